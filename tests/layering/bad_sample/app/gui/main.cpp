// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the application records through a child process.
#include "profiler/engine/layer.h"
#include "views/missing.h"
#include "model/store/excepted.hpp"
