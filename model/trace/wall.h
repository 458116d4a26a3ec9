// SPDX-License-Identifier: Apache-2.0
// The four limits that stop a training job.
#pragma once

namespace fourwalls {

enum class Wall { Memory, Communication, Performance, Tuning };

} // namespace fourwalls
