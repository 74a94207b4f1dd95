//===- Processors.cpp - Processors and memory nodes -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processors.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sched.h>
#include <thread>

using namespace rondo::runtime;

/// A list as the kernel writes it: "0-3,8,10-11". Stops at what is no number.
static std::vector<int> readList(const std::string &path) {
  std::ifstream file(path);
  std::vector<int> list;
  for (int first; file >> first;) {
    int last = first;
    if (file.peek() == '-') {
      file.get();
      if (!(file >> last))
        break;
    }
    for (int i = first; i <= last && list.size() < CPU_SETSIZE; ++i)
      list.push_back(i);
    if (file.peek() != ',')
      break;
    file.get();
  }
  return list;
}

/// By processor.
static std::map<int, int> readNodes(const std::string &system) {
  std::map<int, int> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator at(system + "/node", error), end;
       !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.size() <= 4 || name.rfind("node", 0) != 0 ||
        name.find_first_not_of("0123456789", 4) != std::string::npos)
      continue;
    for (int id : readList(at->path().string() + "/cpulist"))
      nodes[id] = std::atoi(name.c_str() + 4);
  }
  return nodes;
}

std::vector<Processor>
rondo::runtime::orderProcessors(std::span<const int> allowed,
                                const std::string &system) {
  std::map<int, int> nodes = readNodes(system);
  struct Place {
    int thread = 0; ///< Which one of its core.
    int turn = 0;   ///< How many of its node come before it.
    Processor processor;
  };
  std::vector<Place> places;
  for (int id : allowed) {
    Place place;
    place.processor.id = id;
    if (auto found = nodes.find(id); found != nodes.end())
      place.processor.node = found->second;
    std::vector<int> core = readList(system + "/cpu/cpu" + std::to_string(id) +
                                     "/topology/thread_siblings_list");
    // Only those that may be used count.
    for (int other : core)
      place.thread += other < id && std::find(allowed.begin(), allowed.end(),
                                              other) != allowed.end();
    places.push_back(place);
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::pair(a.thread, a.processor.id) <
           std::pair(b.thread, b.processor.id);
  });
  std::map<std::pair<int, int>, int> counts;
  for (Place &place : places)
    place.turn = counts[{place.thread, place.processor.node}]++;
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::tuple(a.thread, a.turn, a.processor.node) <
           std::tuple(b.thread, b.turn, b.processor.node);
  });
  std::vector<Processor> result;
  for (const Place &place : places)
    result.push_back(place.processor);
  return result;
}

std::vector<Processor> rondo::runtime::usableProcessors() {
  std::vector<int> allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int id = 0; id < CPU_SETSIZE; ++id)
      if (CPU_ISSET(id, &set))
        allowed.push_back(id);
  // Machines of more than CPU_SETSIZE processors: without places.
  if (allowed.empty())
    return std::vector<Processor>(
        std::max(1u, std::thread::hardware_concurrency()));
  return orderProcessors(allowed, "/sys/devices/system");
}

uint32_t rondo::runtime::defaultHostThreads(size_t processors,
                                            uint32_t devices) {
  // Few processors are better shared than left to those that mostly sleep.
  size_t others = std::min<size_t>(1 + (size_t)devices, processors / 4);
  return (uint32_t)std::max<size_t>(1, processors - others);
}
