// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the engine writes to the sink only.
#pragma once
#include "model/store/reader.h"
#include <unistd.h>
