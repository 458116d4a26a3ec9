// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the interface of devices knows none of them.
#pragma once

#include "profiler/engine/gpu/gpu_device.h"
