// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a lower layer that looks up, and at Qt.
#pragma once
#include "model/store/reader.h"
#include <QString>
#include <vector>
