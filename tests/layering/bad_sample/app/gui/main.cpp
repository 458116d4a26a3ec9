// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the application records through a child process.
#include "model/store/excepted.hpp"
#include "profiler/engine/layer.h"
#include "views/missing.h"
