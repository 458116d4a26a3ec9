// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the importers' kit knows no format.
#pragma once

#include "model/import/chrome/event.h"
