// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a format uses the kit, and no other format.
#pragma once

#include "model/import/common/kit.h"
#include "model/import/nsight/tables.h"
