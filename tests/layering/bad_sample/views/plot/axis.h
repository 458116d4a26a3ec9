// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the toolkit of plots knows no view.
#pragma once

#include "views/timeline/canvas.h"
