//===- Cuts.cpp - Where stages may begin and end -------------- ===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"
#include "Support.h"
#include <algorithm>
#include <map>
#include <set>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

CutProposer::CutProposer(const Model &model, const Plan &plan, uint32_t devices)
    : model(model), plan(plan), devices(devices),
      layers((uint32_t)model.layers.size()),
      firstBackward(firstBackwardLayer(model)) {
  sumLayers();
}

void CutProposer::sumLayers() {
  auto sized = [&](auto &sums) { sums.assign(layers + 1, {}); };
  sized(forwardTime), sized(fusedTime), sized(backwardTime),
      sized(lastCorrection);
  sized(forwardBytes), sized(backwardBytes);
  for (uint32_t l = 0; l < layers; ++l) {
    const Layer &layer = model.layers[l];
    auto s = (size_t)plan.save[l], k = (size_t)plan.keep[l];
    bool trains = l >= firstBackward;
    const EntryCost &saving =
        layer.forwardSave[s].present ? layer.forwardSave[s] : layer.forward;
    const EntryCost &keeping = trains && layer.forwardSave[k].present
                                   ? layer.forwardSave[k]
                                   : layer.forward;
    double rebuild = plan.keep[l] == SaveSet::Input ? saving.time : 0;
    double last = plan.keep[l] == SaveSet::Input && layer.rebuild[s].present
                      ? layer.rebuild[s].time
                      : rebuild;
    uint64_t parameters = 0, gradients = 0, saved = 0;
    std::set<uint32_t> blocks;
    for (const Parameter &parameter : layer.parameters)
      if (blocks.insert(parameter.block).second) {
        parameters += model.blocks[parameter.block].uploadBytes;
        gradients += model.blocks[parameter.block].gradientBytes;
      }
    for (uint64_t bytes : layer.savedBytes[s])
      saved += bytes;
    for (uint64_t bytes : layer.boundaryBytes)
      saved += bytes;
    bool loss = l + 1 == layers;
    forwardTime[l + 1] = forwardTime[l] + keeping.time;
    fusedTime[l + 1] =
        fusedTime[l] + (loss      ? layer.forwardBackward.time
                        : !trains ? layer.forward.time
                                  : saving.time + layer.backward[s].time);
    backwardTime[l + 1] =
        backwardTime[l] + (trains ? rebuild + layer.backward[s].time : 0);
    lastCorrection[l + 1] = last - rebuild;
    // Twice: the slot's and its neighbour's.
    forwardBytes[l + 1] = forwardBytes[l] + 2 * parameters;
    backwardBytes[l + 1] =
        backwardBytes[l] + 2 * (parameters + gradients) + saved;
  }
}

std::vector<Cut> CutProposer::enumerate() const {
  std::vector<Cut> cuts;
  for (uint32_t fused = 0; fused < layers; ++fused) {
    // Subsets of the layers where a stage may begin, besides the first.
    uint32_t forwards = fused > 0 ? fused - 1 : 0;
    uint32_t backwards = fused > firstBackward ? fused - firstBackward - 1 : 0;
    for (uint32_t f = 0; f < 1u << forwards; ++f)
      for (uint32_t b = 0; b < 1u << backwards; ++b) {
        Cut cut;
        cut.fused = fused;
        if (fused > 0)
          cut.forward.push_back(0);
        for (uint32_t i = 0; i < forwards; ++i)
          if (f >> i & 1)
            cut.forward.push_back(i + 1);
        for (uint32_t i = backwards; i-- > 0;)
          if (b >> i & 1)
            cut.backward.push_back(firstBackward + i + 1);
        if (fused > firstBackward)
          cut.backward.push_back(firstBackward);
        cuts.push_back(std::move(cut));
      }
  }
  return cuts;
}

std::vector<double> CutProposer::timeBounds() const {
  std::vector<double> bounds;
  for (uint32_t begin = 0; begin < layers; ++begin) {
    bounds.push_back(fusedTime[layers] - fusedTime[begin]);
    for (uint32_t end = begin + 1; end < layers; ++end) {
      bounds.push_back(forwardTime[end] - forwardTime[begin]);
      bounds.push_back(backwardTime[end] - backwardTime[begin] +
                       lastCorrection[end]);
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  constexpr size_t kMostBounds = 2048;
  if (bounds.size() <= kMostBounds)
    return bounds;
  std::vector<double> sample;
  for (size_t i = 0; i < kMostBounds; ++i)
    sample.push_back(bounds[i * (bounds.size() - 1) / (kMostBounds - 1)]);
  return sample;
}

Cut CutProposer::pack(double time, uint64_t bytes) const {
  // Sums are differences of running sums: a bound that is such a sum itself
  // must not fail by a rounding.
  time *= 1 + 1e-9;
  Cut cut;
  cut.fused = layers - 1;
  while (cut.fused > 0 &&
         fusedTime[layers] - fusedTime[cut.fused - 1] <= time &&
         backwardBytes[layers] - backwardBytes[cut.fused - 1] <= bytes)
    --cut.fused;
  for (uint32_t end = cut.fused; end > 0;) {
    uint32_t begin = end - 1;
    while (begin > 0 && forwardTime[end] - forwardTime[begin - 1] <= time &&
           forwardBytes[end] - forwardBytes[begin - 1] <= bytes)
      --begin;
    cut.forward.push_back(begin);
    end = begin;
  }
  std::reverse(cut.forward.begin(), cut.forward.end());
  for (uint32_t end = cut.fused; end > firstBackward;) {
    uint32_t begin = end - 1;
    while (begin > firstBackward &&
           backwardTime[end] - backwardTime[begin - 1] + lastCorrection[end] <=
               time &&
           backwardBytes[end] - backwardBytes[begin - 1] <= bytes)
      --begin;
    cut.backward.push_back(begin);
    end = begin;
  }
  return cut;
}

std::vector<Cut> CutProposer::propose(uint64_t bytes) const {
  // Of all bounds that give one number of stages the smallest is the best.
  std::map<size_t, std::pair<double, Cut>> byStages;
  for (double time : timeBounds()) {
    Cut cut = pack(time, bytes);
    byStages.try_emplace(cut.stages(), time, cut);
  }
  std::vector<std::pair<double, Cut>> ranked;
  for (auto &[stages, entry] : byStages)
    ranked.emplace_back(std::max((double)stages * model.rounds, devices) *
                            entry.first,
                        std::move(entry.second));
  std::sort(ranked.begin(), ranked.end());
  std::vector<Cut> cuts;
  for (auto &[cost, cut] : ranked) {
    cuts.push_back(std::move(cut));
    if (cuts.size() == 24)
      break;
  }
  return cuts;
}
