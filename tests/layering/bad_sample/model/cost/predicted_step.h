// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a public header that shows what is inside.
#pragma once

#include "model/cost/step_cost.h"
