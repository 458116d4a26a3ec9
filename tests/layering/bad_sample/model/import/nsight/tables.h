// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: what the other format includes.
#pragma once
