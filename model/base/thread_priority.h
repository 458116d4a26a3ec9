// SPDX-License-Identifier: Apache-2.0
// Threads that work ahead of any question.
#pragma once

namespace fourwalls {

/// From here on this thread takes what others leave of the processors. Not so little that waiting for its end is felt.
void giveWay();

} // namespace fourwalls
