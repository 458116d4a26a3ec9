// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a view uses the toolkit.
#pragma once

#include "views/plot/axis.h"
