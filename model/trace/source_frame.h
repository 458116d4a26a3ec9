// SPDX-License-Identifier: Apache-2.0
// Lines of a Python program, as recorders name them: which of them are the program's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fourwalls {

/// A function of a program, with the line that the recorder gives for it: PyTorch's profiler that of its definition, this
/// collector and memory snapshots that which was running.
struct SourceFrame {
    std::string file; ///< as recorded: "job/train.py"
    int line = 0;
    std::string function;

    friend auto operator<=>(const SourceFrame&, const SourceFrame&) = default;
};

/// "job/train.py(180): main" of PyTorch's profiler, "job/train.py:12 log" of this collector, "log · job/train.py:12" of
/// memory snapshots. Absent: not of these forms, or not of a Python file.
std::optional<SourceFrame> sourceFrame(std::string_view text);

/// Whether the file belongs to Python, PyTorch or an installed package rather than to the program.
bool isOfLibrary(const SourceFrame& frame);

/// The innermost frame that is the program's own of a stack, innermost first, that lines or " < " divide. Absent: none is.
std::optional<SourceFrame> ownFrame(std::string_view stack);

} // namespace fourwalls
