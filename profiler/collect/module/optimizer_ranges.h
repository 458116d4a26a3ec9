// SPDX-License-Identifier: Apache-2.0
// Ranges around PyTorch's optimizers ("Optimizer.step#SGD.step"), which the hook of `record` adds: in a program that marks
// no steps, one ends with each of them.
#pragma once

namespace fourwalls::collect::module {

/// A range has begun on this thread in NVTX's default domain. level: its own, from 0.
void noteOptimizerRange(const char* name, int level);
/// The thread's range of this level has ended. True: a step has ended with it. Of optimizers within others the outermost
/// counts, of several networks' the one that comes first in the process.
bool isEndOfOptimizer(int level);
/// In a forked child, which counts for itself.
void forgetOptimizers();

} // namespace fourwalls::collect::module
