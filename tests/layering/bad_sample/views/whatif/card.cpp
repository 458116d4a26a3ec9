// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a view sees the public headers of the cost model and no other.
#include "model/cost/predicted_step.h"
#include "model/cost/step_cost.h"
