// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the inside of the cost model.
#pragma once
