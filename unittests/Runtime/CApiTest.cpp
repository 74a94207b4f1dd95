//===- CApiTest.cpp - The C interface -------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "rondo-c/runtime.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace rondo::runtime::testing;

extern "C" int rondo_test_count_inputs(const char *path);

namespace {

class CApiTest : public ::testing::Test {
protected:
  void SetUp() override {
    path = writeToy(folder, options);
    ok(rondo_program_load(path.c_str(), &program));
    data = toyData(options, 3);
  }
  void TearDown() override {
    rondo_session_close(session);
    rondo_program_free(program);
  }
  void ok(rondo_error *error) {
    EXPECT_EQ(error, nullptr) << rondo_error_message(error);
    rondo_error_free(error);
  }
  void fails(rondo_error *error, rondo_code code, const char *part) {
    EXPECT_EQ(rondo_error_code(error), code);
    EXPECT_NE(std::string(rondo_error_message(error)).find(part),
              std::string::npos)
        << rondo_error_message(error);
    rondo_error_free(error);
  }
  void open() {
    rondo_session_options sessionOptions = RONDO_INIT(rondo_session_options);
    sessionOptions.device = "host:2";
    ok(rondo_session_open(program, &sessionOptions, &session));
    int64_t shape[] = {(int64_t)data.samples, TOY_COLUMNS};
    ok(rondo_session_set_input(session, "x", RONDO_F32, 2, shape,
                               data.x.data()));
    ok(rondo_session_set_input(session, "labels", RONDO_I64, 1, shape,
                               data.labels.data()));
  }

  TemporaryFolder folder;
  ToyOptions options;
  std::string path;
  rondo_program *program = nullptr;
  rondo_session *session = nullptr;
  ToyData data;
};

} // namespace

TEST_F(CApiTest, IsC) {
  EXPECT_EQ(rondo_test_count_inputs(path.c_str()), 2);
  EXPECT_EQ(rondo_test_count_inputs("/no/such/file"), -1);
}

TEST_F(CApiTest, DescribesPrograms) {
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  ok(rondo_program_get_info(program, &info));
  EXPECT_STREQ(info.name, "toy");
  EXPECT_EQ(info.devices, 2u);
  EXPECT_EQ(info.parameters, 4u);
  EXPECT_EQ(info.predicted_step_ns, 1e6);
  rondo_input_info input = RONDO_INIT(rondo_input_info);
  ok(rondo_program_get_input(program, 0, &input));
  EXPECT_STREQ(input.name, "x");
  EXPECT_EQ(input.shape[1], TOY_COLUMNS);
  fails(rondo_program_get_input(program, 2, &input), RONDO_BAD_OPTION,
        "input 2 of 2");
  rondo_parameter_info parameter = RONDO_INIT(rondo_parameter_info);
  ok(rondo_program_get_parameter(program, 1, &parameter));
  EXPECT_STREQ(parameter.source, "layer0.weight");
  EXPECT_EQ(parameter.elements, kToyWeight);
  EXPECT_TRUE(parameter.trainable);
  fails(rondo_program_get_parameter(program, 4, &parameter), RONDO_BAD_OPTION,
        "parameter 4 of 4");
}

// A caller built against an older header has smaller structures: nothing beyond
// them is written.
TEST_F(CApiTest, RespectsTheCallersStructureSize) {
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  info.size = offsetof(rondo_program_info, rotation);
  info.rotation = 77;
  info.plan = nullptr;
  ok(rondo_program_get_info(program, &info));
  EXPECT_EQ(info.devices, 2u);
  EXPECT_EQ(info.rotation, 77u);
  EXPECT_EQ(info.plan, nullptr);
  info.size = 0;
  fails(rondo_program_get_info(program, &info), RONDO_BAD_OPTION,
        "without its size");
}

TEST_F(CApiTest, Trains) {
  open();
  uint64_t available = 0, epoch = 0;
  ok(rondo_session_get_steps(session, &available, &epoch));
  EXPECT_EQ(available, 3u);
  EXPECT_EQ(epoch, 3u);
  double losses[2] = {};
  ok(rondo_session_step(session, 2, losses));
  ToyReference reference = trainReference(options, data, 2);
  EXPECT_NEAR(losses[1], reference.losses[1], 1e-5 * losses[1]);
  ok(rondo_session_start(session, 1, 1));
  rondo_step_info step = RONDO_INIT(rondo_step_info);
  ok(rondo_session_wait_step(session, 2, &step));
  EXPECT_EQ(step.step, 2u);
  EXPECT_LT(step.gradient_norm, 0);
  ok(rondo_session_save(session, (folder / "w.safetensors").c_str(),
                        RONDO_VALUE, RONDO_ONNX_NAMES));
  ok(rondo_session_save(session, (folder / "g.safetensors").c_str(),
                        RONDO_GRADIENT, RONDO_SOURCE_NAMES));
  EXPECT_GT(readBytes(folder / "g.safetensors").size(), kToyWeightsBytes);
  rondo_session_report report = RONDO_INIT(rondo_session_report);
  ok(rondo_session_get_report(session, &report));
  EXPECT_EQ(report.steps, 3u);
  EXPECT_EQ(report.lanes, 12u);
  rondo_lane_info lane = RONDO_INIT(rondo_lane_info);
  ok(rondo_session_get_lane(session, 11, &lane));
  EXPECT_STREQ(lane.name, "host Staging");
  fails(rondo_session_get_lane(session, 12, &lane), RONDO_BAD_OPTION,
        "lane 12 of 12");
  EXPECT_EQ(report.devices, 2u);
  rondo_device_info device = RONDO_INIT(rondo_device_info);
  ok(rondo_session_get_device(session, 1, &device));
  EXPECT_STREQ(device.name, "host");
  EXPECT_EQ(device.workspace, 0u);
  EXPECT_GT(device.total, device.arena);
  fails(rondo_session_get_device(session, 2, &device), RONDO_BAD_OPTION,
        "device 2 of 2");
  std::vector<float> bias(TOY_COLUMNS);
  ok(rondo_session_read_parameter(session, "layer0.bias", RONDO_FIRST_MOMENT,
                                  bias.data(), bias.size()));
  EXPECT_NE(bias[0], 0);
  ok(rondo_session_write_parameter(session, "layer0.bias", RONDO_FIRST_MOMENT,
                                   bias.data(), bias.size()));
  fails(rondo_session_start(session, 1, 0), RONDO_USER_ERROR,
        "enough for 0 more");
  fails(rondo_session_wait_loss(session, 3, losses), RONDO_BAD_OPTION,
        "step 3 has not been started");
  rondo_step_info unstarted = RONDO_INIT(rondo_step_info);
  fails(rondo_session_wait_step(session, 3, &unstarted), RONDO_BAD_OPTION,
        "step 3 has not been started");
  fails(rondo_session_read_parameter(session, "layer0.bias", RONDO_VALUE,
                                     bias.data(), 3),
        RONDO_BAD_OPTION, "has 264 elements, not 3");
}

TEST_F(CApiTest, MemoryIsTakenFromItsBeginning) {
  open();
  double losses[3] = {};
  ok(rondo_session_step(session, 1, losses));
  // The samples that come next, given as an array of their own.
  uint64_t perStep = data.samples / 3;
  int64_t shape[] = {(int64_t)perStep, TOY_COLUMNS};
  ok(rondo_session_set_input(session, "x", RONDO_F32, 2, shape,
                             data.x.data() + perStep * TOY_COLUMNS));
  ok(rondo_session_set_input(session, "labels", RONDO_I64, 1, shape,
                             data.labels.data() + perStep));
  ok(rondo_session_step(session, 1, losses + 1));
  ToyReference reference = trainReference(options, data, 2);
  EXPECT_NEAR(losses[1], reference.losses[1], 1e-5 * losses[1]);
}

TEST_F(CApiTest, WritesFilesAndSaysWhereItCannot) {
  ok(rondo_check_output_file((folder / "a.csv").c_str()));
  ok(rondo_write_file((folder / "a.csv").c_str(), "1,2\n", 4));
  EXPECT_EQ(readBytes(folder / "a.csv"), "1,2\n");
  fails(rondo_check_output_file("/no/such/folder/a.csv"), RONDO_USER_ERROR,
        "/no/such/folder/a.csv: cannot be written: No such file or directory");
  fails(rondo_write_file("/no/such/folder/a.csv", "", 0), RONDO_USER_ERROR,
        "cannot be written");
}

// Gradients may be kept again and again; the last ones are what is read.
TEST_F(CApiTest, KeepsTheGradientsOfTheLastStepAskedFor) {
  open();
  std::vector<float> often(TOY_COLUMNS), once(TOY_COLUMNS);
  ok(rondo_session_start(session, 1, 1));
  ok(rondo_session_start(session, 1, 0));
  ok(rondo_session_start(session, 1, 1));
  ok(rondo_session_read_parameter(session, "layer0.bias", RONDO_GRADIENT,
                                  often.data(), often.size()));
  rondo_session_close(session);
  session = nullptr;
  open();
  ok(rondo_session_start(session, 3, 1));
  ok(rondo_session_read_parameter(session, "layer0.bias", RONDO_GRADIENT,
                                  once.data(), once.size()));
  EXPECT_EQ(often, once);
}

TEST_F(CApiTest, AProgramMayGoBeforeItsSessions) {
  open();
  rondo_program_free(program);
  program = nullptr;
  double loss = 0;
  ok(rondo_session_step(session, 1, &loss));
  EXPECT_GT(loss, 0);
}

TEST_F(CApiTest, WritesNothingOverWhatItReads) {
  namespace fs = std::filesystem;
  std::string weights = folder / "weights.bin", bytes = readBytes(weights),
              link = folder / "link", saved = folder / "w.safetensors";
  fs::create_hard_link(weights, link);
  open();
  for (const std::string &file :
       {weights, link, path, folder / "./toy.rondo"}) {
    fails(rondo_session_save(session, file.c_str(), RONDO_VALUE,
                             RONDO_ONNX_NAMES),
          RONDO_BAD_OPTION, "which would be lost; name another file");
    for (int isSave : {0, 1})
      fails(rondo_program_check_output(program, nullptr, file.c_str(), isSave),
            RONDO_BAD_OPTION, (file + ": is ").c_str());
  }
  EXPECT_EQ(readBytes(weights), bytes);
  fails(rondo_program_check_output(program, nullptr, link.c_str(), 1),
        RONDO_BAD_OPTION, "a file of weights that ");
  // Weights may replace those that they came from, nothing else may.
  ok(rondo_session_save(session, saved.c_str(), RONDO_VALUE, RONDO_ONNX_NAMES));
  rondo_session_close(session);
  rondo_session_options sessionOptions = RONDO_INIT(rondo_session_options);
  sessionOptions.weights = saved.c_str();
  sessionOptions.trace = 1;
  ok(rondo_session_open(program, &sessionOptions, &session));
  ok(rondo_session_save(session, saved.c_str(), RONDO_VALUE, RONDO_ONNX_NAMES));
  fails(rondo_session_save(session, saved.c_str(), RONDO_FIRST_MOMENT,
                           RONDO_ONNX_NAMES),
        RONDO_BAD_OPTION, "is a file of --weights=");
  fails(rondo_session_write_trace(session, saved.c_str()), RONDO_BAD_OPTION,
        "is a file of --weights=");
  ok(rondo_program_check_output(program, "random:1", saved.c_str(), 0));
  // Nor may one of several files, or what names them.
  std::string index = folder / "model.safetensors.index.json";
  writeBytes(index, R"({"weight_map":{"val_1":"w.safetensors"}})");
  for (const std::string &source : {folder.path, index})
    for (const std::string &file : {saved, index})
      fails(
          rondo_program_check_output(program, source.c_str(), file.c_str(), 1),
          RONDO_BAD_OPTION, "is a file of --weights=");
  std::vector<float> x(8 * TOY_COLUMNS);
  std::string npy = folder / "x.npy";
  writeBytes(npy, npyBytes("<f4", {8, TOY_COLUMNS}, x.data(), 4 * x.size()));
  ok(rondo_session_set_input_file(session, "x", npy.c_str()));
  fails(rondo_session_write_trace(session, npy.c_str()), RONDO_BAD_OPTION,
        "is the file of input 'x'");
  EXPECT_TRUE(rondo_same_file(weights.c_str(), link.c_str()));
  EXPECT_FALSE(rondo_same_file(weights.c_str(), saved.c_str()));
  EXPECT_FALSE(rondo_same_file(nullptr, link.c_str()));
  EXPECT_FALSE(rondo_same_file(link.c_str(), nullptr));
}

TEST_F(CApiTest, OptionsAreChecked) {
  auto refuses = [&](auto change, const char *message) {
    rondo_session_options given = RONDO_INIT(rondo_session_options);
    change(given);
    fails(rondo_check_session_options(&given), RONDO_BAD_OPTION, message);
    fails(rondo_session_open(program, &given, &session), RONDO_BAD_OPTION,
          message);
    EXPECT_EQ(session, nullptr);
  };
  using Options = rondo_session_options;
  refuses([](Options &given) { given.host_threads = 1025; },
          "--host-threads=1025: is not between 1 and 1024");
  for (double seconds : {(double)NAN, (double)INFINITY})
    refuses([&](Options &given) { given.watchdog_seconds = seconds; },
            "is not a time");
  refuses([](Options &given) { given.weights_prefix = "m."; },
          "--weights-prefix: there are no files of --weights that it is for");
  refuses(
      [](Options &given) {
        given.weights = "random:1";
        given.weights_prefix = "m.";
      },
      "--weights-prefix");
  refuses([](Options &given) { given.size = 3; }, "without its size");
  ok(rondo_check_session_options(nullptr));
}

TEST_F(CApiTest, InputsAreChecked) {
  open();
  auto refuses = [&](int type, std::vector<int64_t> shape, rondo_code code,
                     const char *message) {
    fails(rondo_session_set_input(session, "x", (rondo_element_type)type,
                                  (uint32_t)shape.size(), shape.data(),
                                  data.x.data()),
          code, message);
  };
  refuses(RONDO_F32, {-5, TOY_COLUMNS}, RONDO_USER_ERROR,
          "has shape [-5, 264], the program wants [samples, 264]");
  refuses(RONDO_F32, {INT64_MAX, TOY_COLUMNS}, RONDO_USER_ERROR, "has shape [");
  refuses(RONDO_F32, {}, RONDO_USER_ERROR, "has shape []");
  refuses(RONDO_F32, std::vector<int64_t>(65), RONDO_USER_ERROR,
          "has 65 axes, the program wants 2");
  for (int type : {7, 256, -1})
    refuses(type, {8, TOY_COLUMNS}, RONDO_BAD_OPTION,
            "there is no element type");
  // What was bound before stays.
  uint64_t available = 0;
  ok(rondo_session_get_steps(session, &available, nullptr));
  EXPECT_EQ(available, 3u);
}

TEST_F(CApiTest, NamesAndQuantitiesAreChecked) {
  open();
  std::string file = folder / "w.safetensors";
  float value = 0;
  fails(rondo_session_save(session, file.c_str(), RONDO_VALUE, (rondo_names)7),
        RONDO_BAD_OPTION, "there are no names 7");
  for (int quantity : {4, -1}) {
    auto what = (rondo_quantity)quantity;
    fails(rondo_session_save(session, file.c_str(), what, RONDO_ONNX_NAMES),
          RONDO_BAD_OPTION, "there is no quantity");
    fails(rondo_session_read_parameter(session, "val_1", what, &value, 1),
          RONDO_BAD_OPTION, "there is no quantity");
    fails(rondo_session_write_parameter(session, "val_1", what, &value, 1),
          RONDO_BAD_OPTION, "there is no quantity");
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  fails(rondo_session_save(session, file.c_str(), RONDO_GRADIENT,
                           RONDO_ONNX_NAMES),
        RONDO_USER_ERROR,
        "no gradients were kept: start the step with keep_gradients");
}

TEST_F(CApiTest, NothingThatIsNeededMayBeNull) {
  open();
  auto null = [&](rondo_error *error, const char *argument) {
    fails(error, RONDO_BAD_OPTION,
          (std::string("the argument '") + argument + "' is NULL").c_str());
  };
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  rondo_input_info input = RONDO_INIT(rondo_input_info);
  rondo_parameter_info parameter = RONDO_INIT(rondo_parameter_info);
  rondo_step_info step = RONDO_INIT(rondo_step_info);
  rondo_session_report report = RONDO_INIT(rondo_session_report);
  rondo_lane_info lane = RONDO_INIT(rondo_lane_info);
  rondo_device_info device = RONDO_INIT(rondo_device_info);
  rondo_program *loaded = nullptr;
  rondo_session *opened = nullptr;
  int64_t shape[] = {8, TOY_COLUMNS};
  float value = 0;
  double loss = 0;
  null(rondo_check_output_file(nullptr), "path");
  null(rondo_write_file(nullptr, "", 0), "path");
  null(rondo_write_file((folder / "f").c_str(), nullptr, 1), "data");
  ok(rondo_write_file((folder / "f").c_str(), nullptr, 0));
  null(rondo_program_load(nullptr, &loaded), "path");
  null(rondo_program_load(path.c_str(), nullptr), "program");
  null(rondo_program_get_info(nullptr, &info), "program");
  null(rondo_program_get_info(program, nullptr), "info");
  null(rondo_program_get_input(nullptr, 0, &input), "program");
  null(rondo_program_get_input(program, 0, nullptr), "info");
  null(rondo_program_get_parameter(nullptr, 0, &parameter), "program");
  null(rondo_program_get_parameter(program, 0, nullptr), "info");
  null(rondo_program_check_output(nullptr, nullptr, "f", 0), "program");
  null(rondo_program_check_output(program, nullptr, nullptr, 0), "path");
  null(rondo_session_open(nullptr, nullptr, &opened), "program");
  null(rondo_session_open(program, nullptr, nullptr), "session");
  null(rondo_session_set_input_file(nullptr, "x", "f"), "session");
  null(rondo_session_set_input_file(session, nullptr, "f"), "name");
  null(rondo_session_set_input_file(session, "x", nullptr), "path");
  null(rondo_session_set_input(nullptr, "x", RONDO_F32, 2, shape, &value),
       "session");
  null(rondo_session_set_input(session, nullptr, RONDO_F32, 2, shape, &value),
       "name");
  null(rondo_session_set_input(session, "x", RONDO_F32, 2, nullptr, &value),
       "shape");
  null(rondo_session_set_input(session, "x", RONDO_F32, 2, shape, nullptr),
       "data");
  null(rondo_session_set_order(nullptr, 0, 0, 1), "session");
  null(rondo_session_set_learning_rate(nullptr, "constant", 1), "session");
  null(rondo_session_set_learning_rate(session, nullptr, 1), "schedule");
  null(rondo_session_get_steps(nullptr, nullptr, nullptr), "session");
  ok(rondo_session_get_steps(session, nullptr, nullptr));
  null(rondo_session_start(nullptr, 1, 0), "session");
  null(rondo_session_wait_loss(nullptr, 0, &loss), "session");
  null(rondo_session_wait_loss(session, 0, nullptr), "loss");
  null(rondo_session_wait_step(nullptr, 0, &step), "session");
  null(rondo_session_wait_step(session, 0, nullptr), "info");
  null(rondo_session_step(nullptr, 1, &loss), "session");
  null(rondo_session_step(session, 1, nullptr), "losses");
  ok(rondo_session_step(session, 0, nullptr));
  null(rondo_session_synchronize(nullptr), "session");
  null(rondo_session_read_parameter(nullptr, "val_1", RONDO_VALUE, &value, 1),
       "session");
  null(rondo_session_read_parameter(session, nullptr, RONDO_VALUE, &value, 1),
       "name");
  null(rondo_session_read_parameter(session, "val_1", RONDO_VALUE, nullptr, 1),
       "values");
  null(rondo_session_write_parameter(nullptr, "val_1", RONDO_VALUE, &value, 1),
       "session");
  null(rondo_session_write_parameter(session, nullptr, RONDO_VALUE, &value, 1),
       "name");
  null(rondo_session_write_parameter(session, "val_1", RONDO_VALUE, nullptr, 1),
       "values");
  null(rondo_session_save(nullptr, "f", RONDO_VALUE, RONDO_ONNX_NAMES),
       "session");
  null(rondo_session_save(session, nullptr, RONDO_VALUE, RONDO_ONNX_NAMES),
       "path");
  null(rondo_session_get_report(nullptr, &report), "session");
  null(rondo_session_get_report(session, nullptr), "report");
  null(rondo_session_get_lane(nullptr, 0, &lane), "session");
  null(rondo_session_get_lane(session, 0, nullptr), "info");
  null(rondo_session_get_device(nullptr, 0, &device), "session");
  null(rondo_session_get_device(session, 0, nullptr), "info");
  null(rondo_session_begin_measuring(nullptr), "session");
  null(rondo_session_write_trace(nullptr, "f"), "session");
  null(rondo_session_write_trace(session, nullptr), "path");
  rondo_session_close(nullptr);
  rondo_program_free(nullptr);
}

TEST_F(CApiTest, HandsOutErrors) {
  rondo_session_options sessionOptions = RONDO_INIT(rondo_session_options);
  sessionOptions.device = "host:9";
  fails(rondo_session_open(program, &sessionOptions, &session),
        RONDO_BAD_OPTION, "--device=host:9");
  sessionOptions.size = 1;
  fails(rondo_session_open(program, &sessionOptions, &session),
        RONDO_BAD_OPTION,
        "a structure without its size was given to the runtime (see "
        "RONDO_INIT)");
  sessionOptions.size = sizeof sessionOptions;
  sessionOptions.device = "cuda:2";
  fails(rondo_session_open(program, &sessionOptions, &session),
        RONDO_BAD_OPTION, "holds no code for GPUs");
  open();
  rondo_program *none = nullptr;
  fails(rondo_program_load("", &none), RONDO_USER_ERROR,
        "'': No such file or directory");
  fails(rondo_session_set_learning_rate(session, "bumpy", 3), RONDO_BAD_OPTION,
        "--lr-schedule=bumpy");
  fails(rondo_session_set_input_file(session, "x", "/no/such.npy"),
        RONDO_USER_ERROR, "No such file");
  fails(rondo_session_write_trace(session, "/tmp/x"), RONDO_USER_ERROR,
        "without tracing");
  fails(rondo_session_set_order(session, 1, 1, 0), RONDO_BAD_OPTION,
        "0 epochs");
  EXPECT_EQ(rondo_error_code(nullptr), RONDO_OK);
  EXPECT_STREQ(rondo_error_message(nullptr), "");
  EXPECT_NE(std::string(rondo_list_devices()).find("host:N"),
            std::string::npos);
  EXPECT_STREQ(rondo_runtime_version(), "0.1.0");
}
