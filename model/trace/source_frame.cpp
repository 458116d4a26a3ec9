// SPDX-License-Identifier: Apache-2.0
// See source_frame.h.
#include "model/trace/source_frame.h"

#include <algorithm>
#include <array>

namespace fourwalls {

namespace {

constexpr std::string_view kBeforeFile = " \xc2\xb7 ";

std::optional<SourceFrame> frameOf(std::string_view file, std::string_view line, std::string_view function)
{
    if (file.empty() || function.empty() || line.empty() || line.size() > 9) return std::nullopt;
    if (!std::all_of(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
    int number = 0;
    for (const char c : line) number = 10 * number + (c - '0');
    return SourceFrame{std::string(file), number, std::string(function)};
}

/// "job/train.py:12".
std::optional<SourceFrame> located(std::string_view place, std::string_view function)
{
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    return frameOf(place.substr(0, colon), place.substr(colon + 1), function);
}

} // namespace

std::optional<SourceFrame> sourceFrame(std::string_view text)
{
    if (const std::size_t end = text.find("): "); end != std::string_view::npos) {
        const std::size_t open = text.rfind('(', end);
        if (open == std::string_view::npos) return std::nullopt;
        return frameOf(text.substr(0, open), text.substr(open + 1, end - open - 1), text.substr(end + 3));
    }
    if (const std::size_t dot = text.find(kBeforeFile); dot != std::string_view::npos)
        return located(text.substr(dot + kBeforeFile.size()), text.substr(0, dot));
    // The file's name may have spaces; a function's has none.
    const std::size_t space = text.rfind(' ');
    return space == std::string_view::npos ? std::nullopt : located(text.substr(0, space), text.substr(space + 1));
}

bool isOfLibrary(const SourceFrame& frame)
{
    const std::string_view file = frame.file;
    if (!file.ends_with(".py") && !file.ends_with(".ipynb") && !file.starts_with("<ipython")) return true;
    constexpr std::array<std::string_view, 4> kInstalled{"site-packages", "dist-packages", "/lib/python3",
                                                         "/lib64/python3"};
    if (std::any_of(kInstalled.begin(), kInstalled.end(),
                    [file](std::string_view each) { return file.find(each) != std::string_view::npos; }))
        return true;
    // PyTorch's profiler writes the files of Python and of packages without the folder they are installed in.
    constexpr std::array<std::string_view, 15> kFolders{
        "torch/",     "torchvision/", "numpy/",      "transformers/",    "accelerate/",
        "deepspeed/", "lightning/",   "asyncio/",    "collections/",     "concurrent/",
        "logging/",   "importlib/",   "lib/python3", "multiprocessing/", "pytorch_lightning/"};
    constexpr std::array<std::string_view, 21> kModules{
        "_weakrefset.py", "abc.py",      "ast.py",       "codecs.py",  "contextlib.py", "copy.py",
        "dataclasses.py", "enum.py",     "functools.py", "inspect.py", "pickle.py",     "queue.py",
        "random.py",      "runpy.py",    "selectors.py", "socket.py",  "tempfile.py",   "threading.py",
        "typing.py",      "warnings.py", "weakref.py"};
    return std::find(kModules.begin(), kModules.end(), file) != kModules.end() ||
           std::any_of(kFolders.begin(), kFolders.end(),
                       [file](std::string_view each) { return file.starts_with(each); });
}

std::optional<SourceFrame> ownFrame(std::string_view stack)
{
    while (!stack.empty()) {
        const std::size_t line = stack.find('\n'), next = stack.find(" < ");
        const std::size_t end = std::min(line, next);
        if (const auto frame = sourceFrame(stack.substr(0, end)); frame && !isOfLibrary(*frame)) return frame;
        if (end == std::string_view::npos) break;
        stack.remove_prefix(end == line ? end + 1 : end + 3);
    }
    return std::nullopt;
}

} // namespace fourwalls
