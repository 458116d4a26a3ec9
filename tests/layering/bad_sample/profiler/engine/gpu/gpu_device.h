// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a device.
#pragma once

#include "profiler/engine/device/device.h"
