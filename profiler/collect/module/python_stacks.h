// SPDX-License-Identifier: Apache-2.0
// Where in a Python program a synchronising call was made. The call itself is left alone: no function of Python is
// replaced, and the interpreter's lock, which PyTorch gives up while it waits, is not asked for. Python is asked to call
// back when its main thread is between two instructions again, which is right behind the call; the stack is taken then.
// Python runs such calls on its main thread only: of other threads there are no stacks.
#pragma once

#include <cstdint>

namespace fourwalls::collect::module {

/// The calling thread begins to wait for the GPU. Does nothing where there is no Python.
void notePythonStack(std::uint32_t correlation);
/// In a forked child.
void forgetPythonStack();

} // namespace fourwalls::collect::module
