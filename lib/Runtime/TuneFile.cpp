//===- TuneFile.cpp - Which algorithms were fastest -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TuneFile.h"
#include "rondo/Runtime/JsonDepth.h"
#include "rondo/Runtime/OutputFile.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace rondo::runtime;
using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "rondo-tune";
constexpr int kVersion = 1;

std::string rondo::runtime::hexText(const TuneFile::Algorithm &algorithm) {
  std::string text;
  for (uint8_t byte : algorithm)
    text += format("%02x", byte);
  return text;
}

static bool parseHex(const std::string &text, TuneFile::Algorithm &algorithm) {
  if (text.size() != 2 * algorithm.size())
    return false;
  for (size_t i = 0; i < algorithm.size(); ++i) {
    const char *digits = text.data() + 2 * i;
    auto [stop, error] = std::from_chars(digits, digits + 2, algorithm[i], 16);
    if (error != std::errc() || stop != digits + 2)
      return false;
  }
  return true;
}

static bool parseChoice(const Json &entry, std::string &product,
                        TuneFile::Choice &choice) {
  if (!entry.is_object())
    return false;
  for (const char *name : {"product", "algorithm"})
    if (!entry.contains(name) || !entry[name].is_string())
      return false;
  for (const char *name : {"microseconds", "first_microseconds"})
    if (!entry.contains(name) || !entry[name].is_number())
      return false;
  if (!entry.contains("candidates") || !entry["candidates"].is_number_integer())
    return false;
  product = entry["product"];
  choice.microseconds = entry["microseconds"];
  choice.firstMicroseconds = entry["first_microseconds"];
  choice.candidates = entry["candidates"];
  return parseHex(entry["algorithm"], choice.algorithm);
}

Status TuneFile::open(const std::string &path, const Machine &machine,
                      bool again, TuneFile &file) {
  file = TuneFile();
  file.path_ = path;
  file.machine = machine;
  file.changed = again;
  std::ifstream stream(path);
  if (!stream) {
    if (errno == ENOENT)
      return Status::success();
    return userError(path + ": " + std::strerror(errno));
  }
  std::stringstream text;
  text << stream.rdbuf();
  if (std::string deep = findDeepJson(text.str()); !deep.empty())
    return userError(path + ": not a file that --tune wrote: " + deep +
                     "; name another one");
  Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  auto number = [&](const char *name) {
    return json.contains(name) && json[name].is_number_integer();
  };
  // Whatever else that is, it is not overwritten.
  if (!json.is_object() || json.value("format", Json()) != kFormat ||
      !number("version") || !json.contains("gpu") || !json["gpu"].is_string() ||
      !number("cublaslt") || !number("workspace") ||
      !json.contains("products") || !json["products"].is_array())
    return userError(path + ": not a file that --tune wrote; name another one");
  if (json["version"] != kVersion)
    return userError(path + ": of format " + json["version"].dump() +
                     ", this is Rondo's format " + std::to_string(kVersion) +
                     "; name another file");
  if (again)
    return Status::success();
  Machine made{json["gpu"], json["cublaslt"], json["workspace"]};
  if (!(made == machine)) {
    auto words = [](const Machine &machine) {
      return format("%s with cuBLASLt %llu and %s of workspace",
                    machine.gpu.c_str(), (unsigned long long)machine.library,
                    formatBytes(machine.workspace).c_str());
    };
    return userError(path + ": was made on " + words(made) + ", this is " +
                     words(machine) +
                     "; name another file, or time again with --retune, which "
                     "replaces it");
  }
  for (size_t i = 0; i < json["products"].size(); ++i) {
    std::string product;
    Choice choice;
    if (!parseChoice(json["products"][i], product, choice) ||
        !file.choices.emplace(product, choice).second)
      return userError(
          format("%s: entry %zu of 'products' is damaged or there twice%s; "
                 "correct it, or time again with --retune",
                 path.c_str(), i,
                 product.empty() ? "" : (" (" + product + ")").c_str()));
  }
  return Status::success();
}

const TuneFile::Choice *TuneFile::find(const std::string &product) const {
  auto place = choices.find(product);
  return place == choices.end() ? nullptr : &place->second;
}

void TuneFile::add(const std::string &product, const Choice &choice) {
  added_ += choices.insert_or_assign(product, choice).second;
  changed = true;
}

Status TuneFile::save() {
  if (!changed)
    return Status::success();
  auto rounded = [](double microseconds) {
    return std::round(microseconds * 100) / 100;
  };
  Json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["gpu"] = machine.gpu;
  json["cublaslt"] = machine.library;
  json["workspace"] = machine.workspace;
  json["products"] = Json::array();
  for (const auto &[product, choice] : choices)
    json["products"].push_back(
        {{"product", product},
         {"microseconds", rounded(choice.microseconds)},
         {"first_microseconds", rounded(choice.firstMicroseconds)},
         {"candidates", choice.candidates},
         {"algorithm", hexText(choice.algorithm)}});
  std::string text =
      json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (Status status = writeFile(path_,
                                [&](std::FILE *file) {
                                  std::fwrite(text.data(), 1, text.size(),
                                              file);
                                });
      !status.ok())
    return status;
  changed = false;
  return Status::success();
}
