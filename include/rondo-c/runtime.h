/*===- rondo-c/runtime.h - The runtime's C interface -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Rondo project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Loads programs and trains them. Stable: functions keep their signatures,   *|
|* structures only grow at their end. A structure's first member is its size, *|
|* set by the caller (RONDO_INIT), so that older callers and newer libraries  *|
|* understand each other.                                                     *|
|*                                                                            *|
|* What can fail returns an error object, or NULL. The caller owns it. No C++ *|
|* exception leaves these functions. Strings are UTF-8; those in information  *|
|* structures belong to the object they describe.                             *|
|*                                                                            *|
|* A session is used from one thread at a time; a program may be shared.      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef RONDO_C_RUNTIME_H
#define RONDO_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* An enumeration's type in C++ too, where any number may be passed, as in C. */
#ifdef __cplusplus
#define RONDO_INT : int
#else
#define RONDO_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RONDO_EXPORT __attribute__((visibility("default")))
#else
#define RONDO_EXPORT
#endif

/* A structure of this type with its size set and all else zero. */
#ifdef __cplusplus
#define RONDO_INIT(type) (::rondo_c_init<type>())
#else
#define RONDO_INIT(type) ((type){.size = sizeof(type)})
#endif

typedef struct rondo_error rondo_error;
typedef struct rondo_program rondo_program;
typedef struct rondo_session rondo_session;

/* ---- Errors ------------------------------------------------------------- */

/* Also the exit codes of the tools. */
typedef enum rondo_code RONDO_INT {
  RONDO_OK = 0,
  RONDO_USER_ERROR = 1, /* a file, an input or a weight cannot be used */
  RONDO_BAD_OPTION = 2, /* an option or an argument is wrong: a pointer that
                           may not be NULL, an index, a step, a quantity or a
                           number of elements that there is not */
  RONDO_DEVICE_ERROR = 4,
  RONDO_INTERNAL_ERROR = 70
} rondo_code;

RONDO_EXPORT rondo_code rondo_error_code(const rondo_error *error);
RONDO_EXPORT const char *rondo_error_message(const rondo_error *error);
RONDO_EXPORT void rondo_error_free(rondo_error *error);

/* ---- The library -------------------------------------------------------- */

/* "0.1.0" */
RONDO_EXPORT const char *rondo_runtime_version(void);
/* One line a kind of device; static storage. */
RONDO_EXPORT const char *rondo_list_devices(void);

/* ---- Files --------------------------------------------------------------- */

/* Whether a file can be written there. Changes nothing; for those who would
 * like to know before they train for a week. */
RONDO_EXPORT rondo_error *rondo_check_output_file(const char *path);
/* Whether writing one of two paths replaces or changes the other: 1 or 0. Goes
 * by device and inode, through links; NULL is no file. */
RONDO_EXPORT int rondo_same_file(const char *a, const char *b);
/* Written beside `path` and renamed, as everything that a session writes: what
 * was there stays until the new file is whole. */
RONDO_EXPORT rondo_error *rondo_write_file(const char *path, const void *data,
                                           size_t bytes);

/* ---- Programs ----------------------------------------------------------- */

typedef enum rondo_element_type RONDO_INT {
  RONDO_F32 = 0,
  RONDO_BF16 = 1,
  RONDO_F16 = 2,
  RONDO_F64 = 3,
  RONDO_I64 = 4,
  RONDO_I32 = 5,
  RONDO_BOOL = 6
} rondo_element_type;

typedef struct rondo_program_info {
  size_t size;
  const char *name, *source, *producer, *target;
  uint32_t devices, rotation, rounds;
  uint32_t micro_batches; /* of one round */
  uint32_t staleness;
  uint32_t inputs, parameters; /* their numbers */
  uint64_t device_bytes;       /* planned peak, each device */
  uint64_t pinned_bytes, host_bytes;
  double predicted_step_ns;  /* steady state */
  double predicted_first_ns; /* the first step */
  double predicted_bubble;   /* idle share of the compute lanes */
  uint64_t predicted_uploaded,
      predicted_downloaded; /* bytes a step, all devices */
  const char *plan;         /* in words */
  double learning_rate;     /* 0: no optimizer */
} rondo_program_info;

typedef struct rondo_input_info {
  size_t size;
  const char *name;
  rondo_element_type type;
  uint32_t rank;
  const int64_t *shape; /* of one micro-batch; axis 0 counts samples */
} rondo_input_info;

typedef struct rondo_parameter_info {
  size_t size;
  const char *name;   /* the ONNX initializer's */
  const char *source; /* the model's own, before export */
  rondo_element_type type;
  uint32_t rank;
  const int64_t *shape;
  uint64_t elements;
  int trainable;
} rondo_parameter_info;

RONDO_EXPORT rondo_error *rondo_program_load(const char *path,
                                             rondo_program **program);
/* Sessions of the program keep what they need of it. */
RONDO_EXPORT void rondo_program_free(rondo_program *program);
RONDO_EXPORT rondo_error *rondo_program_get_info(const rondo_program *program,
                                                 rondo_program_info *info);
RONDO_EXPORT rondo_error *rondo_program_get_input(const rondo_program *program,
                                                  uint32_t index,
                                                  rondo_input_info *info);
RONDO_EXPORT rondo_error *
rondo_program_get_parameter(const rondo_program *program, uint32_t index,
                            rondo_parameter_info *info);

/* Whether a session that reads `weights` (as in rondo_session_options) may
 * write `path`: not over the program, the files of weights that it names, or
 * those of `weights`. With `is_save`, weights are written, which may replace
 * the one .safetensors file that they came from. */
RONDO_EXPORT rondo_error *
rondo_program_check_output(const rondo_program *program, const char *weights,
                           const char *path, int is_save);

/* ---- Sessions ----------------------------------------------------------- */

typedef struct rondo_session_options {
  size_t size;
  const char *device; /* "host:4"; NULL: host, as many as the program wants */
  uint32_t host_threads; /* share the optimizer's work, up to 1024; 0: one a
                            processor, less those of devices */
  const char *weights;   /* FILE.safetensors, INDEX.json, a directory,
                            random:SEED; NULL: what the program names */
  const char
      *weights_prefix;     /* before every name in those files; may be NULL */
  int trace;               /* remember when each operation ran */
  double watchdog_seconds; /* fail when no operation ends for so long; 0: 300,
                              or 10 predicted steps; negative: never */
  uint64_t
      delay_seed; /* debugging: random pauses of up to delay_us in every lane */
  uint32_t delay_us;
  const char *tune; /* GPUs time algorithms for products that this file lacks,
                       add them, and use it; NULL: the library's own choices */
  int retune;       /* what the file holds is timed again */
} rondo_session_options;

/* What can be said without a program. */
RONDO_EXPORT rondo_error *
rondo_check_session_options(const rondo_session_options *options);
/* `options` may be NULL. */
RONDO_EXPORT rondo_error *
rondo_session_open(const rondo_program *program,
                   const rondo_session_options *options,
                   rondo_session **session);
/* Waits for the steps in flight. */
RONDO_EXPORT void rondo_session_close(rondo_session *session);

/* A .npy file that holds samples along axis 0; it is memory-mapped. */
RONDO_EXPORT rondo_error *rondo_session_set_input_file(rondo_session *session,
                                                       const char *name,
                                                       const char *path);
/* `data` stays alive and unchanged until it is replaced or the session closed.
   Samples are taken from its beginning on, by the next step that starts. */
RONDO_EXPORT rondo_error *
rondo_session_set_input(rondo_session *session, const char *name,
                        rondo_element_type type, uint32_t rank,
                        const int64_t *shape, const void *data);
/* Before the first step: how often samples are visited, and whether each time
 * in another order drawn from `seed`. */
RONDO_EXPORT rondo_error *rondo_session_set_order(rondo_session *session,
                                                  int shuffle, uint64_t seed,
                                                  uint32_t epochs);
/* "constant", "linear,warmup=10", "cosine,warmup=100,min=1e-5" over
 * `total_steps`. */
RONDO_EXPORT rondo_error *
rondo_session_set_learning_rate(rondo_session *session, const char *schedule,
                                uint64_t total_steps);
/* Steps that the inputs still hold samples for, and steps of one visit. Either
 * may be NULL. */
RONDO_EXPORT rondo_error *rondo_session_get_steps(rondo_session *session,
                                                  uint64_t *available,
                                                  uint64_t *per_epoch);

/* Lets `steps` more steps run and returns at once. Steps are numbered from 0.
   With `keep_gradients`, those of the last of them can be read and saved; the
   first such call waits for the steps in flight, a later one for the step that
   the one before it kept. */
RONDO_EXPORT rondo_error *
rondo_session_start(rondo_session *session, uint64_t steps, int keep_gradients);
/* Waits until the step's loss is known; its update may still run. */
RONDO_EXPORT rondo_error *rondo_session_wait_loss(rondo_session *session,
                                                  uint64_t step, double *loss);

typedef struct rondo_step_info {
  size_t size;
  uint64_t step;
  double loss;
  double
      gradient_norm; /* before clipping; negative: the program computes none */
  double learning_rate;
  int64_t end_ns;    /* when it was done, since an arbitrary start */
  double loss_scale; /* of its gradients; 0: the program does not scale */
  int skipped;       /* they overflowed: there was no update */
} rondo_step_info;

/* Waits until all of the step is done. */
RONDO_EXPORT rondo_error *rondo_session_wait_step(rondo_session *session,
                                                  uint64_t step,
                                                  rondo_step_info *info);
/* start, and wait for every loss. */
RONDO_EXPORT rondo_error *rondo_session_step(rondo_session *session,
                                             uint64_t steps, double *losses);
/* Waits for everything started. */
RONDO_EXPORT rondo_error *rondo_session_synchronize(rondo_session *session);

/* ---- State -------------------------------------------------------------- */

typedef enum rondo_quantity RONDO_INT {
  RONDO_VALUE =
      0, /* f32 master; of a frozen parameter what is uploaded, widened */
  RONDO_GRADIENT = 1, /* before clipping; see keep_gradients */
  RONDO_FIRST_MOMENT = 2,
  RONDO_SECOND_MOMENT = 3
} rondo_quantity;

typedef enum rondo_names RONDO_INT {
  RONDO_ONNX_NAMES = 0,
  RONDO_SOURCE_NAMES = 1
} rondo_names;

/* By ONNX or source name; `elements` f32 in the ONNX initializer's layout. */
RONDO_EXPORT rondo_error *rondo_session_read_parameter(rondo_session *session,
                                                       const char *name,
                                                       rondo_quantity quantity,
                                                       float *values,
                                                       uint64_t elements);
RONDO_EXPORT rondo_error *rondo_session_write_parameter(rondo_session *session,
                                                        const char *name,
                                                        rondo_quantity quantity,
                                                        const float *values,
                                                        uint64_t elements);
/* A safetensors file, written beside `path` and renamed. Refused, as every file
 * that a session writes, over one that it reads: rondo_program_check_output. */
RONDO_EXPORT rondo_error *rondo_session_save(rondo_session *session,
                                             const char *path,
                                             rondo_quantity quantity,
                                             rondo_names names);

/* ---- What happened ------------------------------------------------------ */

typedef struct rondo_session_report {
  size_t size;
  uint64_t steps;
  double seconds;      /* from the first step's begin to the last one's end */
  double step_seconds; /* between the ends of two steps; after
                          begin_measuring, seconds over steps */
  uint64_t uploaded, downloaded, peer; /* bytes, all steps and devices */
  uint64_t samples_per_step;
  uint64_t tokens_per_step; /* 0: there is no integer input of rank 2 */
  uint32_t lanes;
  uint32_t devices;
  uint64_t first_step;    /* steps before it were not measured */
  double issue_seconds;   /* spent on issuing operations */
  double bubble;          /* share of `seconds` that compute lanes were idle */
  double flops_per_step;  /* of matrix products, on all devices, those that are
                             computed again counted again */
  uint64_t skipped_steps; /* whose f16 gradients overflowed */
  double loss_scale;      /* of the last step; 0: the program does not scale */
  /* Hashes of all that decides the bits of a step: with the algorithms that
     devices chose, and the program's alone; and how these were chosen, "": as
     the program says. Valid until the next report. */
  const char *arithmetic, *program_arithmetic, *products;
} rondo_session_report;

typedef struct rondo_lane_info {
  size_t size;
  const char *name; /* valid until the next call for this session */
  double busy_seconds;
  uint64_t copied_bytes;
} rondo_lane_info;

/* Memory of one device, in bytes. */
typedef struct rondo_device_info {
  size_t size;
  const char
      *name; /* "NVIDIA H200"; valid until the next call for this session */
  uint64_t arena;     /* what was planned, and is taken exactly */
  uint64_t workspace; /* of libraries, beside the arena */
  uint64_t other;     /* the most that was seen taken beside these: code and
                         the driver's own */
  uint64_t total;     /* the device has */
  uint64_t used;      /* of it, by everybody, now; 0: not known */
  /* Pinned host memory that copies go through, where the system does not pin
     what they copy (0: they go directly), and its reason. */
  uint64_t ring;
  const char *ring_reason;
  const char *code;    /* what kernels come from: "machine code for sm_90"; on
                          the host "" */
  uint64_t graphs;     /* launches that were recorded, to be repeated as one */
  int context_counted; /* `other` holds what the driver took for the context */
} rondo_device_info;

RONDO_EXPORT rondo_error *
rondo_session_get_report(rondo_session *session, rondo_session_report *report);
RONDO_EXPORT rondo_error *rondo_session_get_lane(rondo_session *session,
                                                 uint32_t index,
                                                 rondo_lane_info *info);
RONDO_EXPORT rondo_error *rondo_session_get_device(rondo_session *session,
                                                   uint32_t index,
                                                   rondo_device_info *info);
/* Waits for everything started; the report is of later steps alone. */
RONDO_EXPORT rondo_error *rondo_session_begin_measuring(rondo_session *session);
/* Measured times in Chrome's trace format; the session was opened with `trace`.
 */
RONDO_EXPORT rondo_error *rondo_session_write_trace(rondo_session *session,
                                                    const char *path);

#ifdef __cplusplus
} /* extern "C" */

template <typename T>
T rondo_c_init() {
  T value{};
  value.size = sizeof(T);
  return value;
}
#endif

#endif /* RONDO_C_RUNTIME_H */
