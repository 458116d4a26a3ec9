// SPDX-License-Identifier: Apache-2.0
// A small reading of C++ names by brackets; nothing of them is believed to be complete.
#include "model/trace/short_name.h"

#include "model/trace/source_frame.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace fourwalls {

namespace {

constexpr std::string_view kDot = " \xc2\xb7 ";
constexpr int kDeepestKernel = 3; ///< kernels that are only the frame of another name

bool isNameChar(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '~';
}

std::string_view lastComponent(std::string_view qualified)
{
    const std::size_t at = qualified.rfind("::");
    return at == std::string_view::npos || at + 2 >= qualified.size() ? qualified : qualified.substr(at + 2);
}

void removeAll(std::string& text, std::string_view part)
{
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
        text.erase(at, part.size());
}

/// "dir/train.py(180): main" of Python's stacks.
std::optional<std::string> pythonFrame(std::string_view name)
{
    if (name.find("): ") == std::string_view::npos) return std::nullopt;
    const std::optional<SourceFrame> frame = sourceFrame(name);
    if (!frame) return std::nullopt;
    const std::string_view file = std::string_view(frame->file).substr(frame->file.find_last_of("/\\") + 1);
    return frame->function + std::string(kDot) + std::string(file) + ":" + std::to_string(frame->line);
}

/// "<built-in method relu of type object at 0x…>", "<built-in function len>".
std::optional<std::string> builtIn(std::string_view name)
{
    for (const std::string_view begin : {"<built-in method ", "<built-in function "}) {
        if (!name.starts_with(begin)) continue;
        std::string_view rest = name.substr(begin.size());
        std::string_view owner;
        if (const std::size_t of = rest.find(" of "); of != std::string_view::npos) {
            owner = rest.substr(of + 4);
            owner = owner.substr(0, owner.find(" object at "));
            rest = rest.substr(0, of);
        }
        while (!rest.empty() && rest.back() == '>') rest.remove_suffix(1);
        if (rest.empty()) return std::nullopt;
        const bool tells = !owner.empty() && owner != "type" && owner != "module" && owner.size() < 40;
        return std::string(rest) + std::string(kDot) + (tells ? std::string(owner) : "built-in");
    }
    return std::nullopt;
}

/// A C++ name taken apart: "a::b::name" and what its template brackets hold.
struct KernelName {
    std::string qualified, arguments;
};

KernelName takenApart(std::string_view text)
{
    // The name stands before its parameters, behind the last space outside of brackets (the return type's).
    int depth = 0;
    std::size_t begin = 0, end = text.size(), open = std::string_view::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '(' && depth == 0) {
            end = i;
            break;
        }
        if (c == '<' || c == '(' || c == '{') {
            if (c == '<' && depth == 0) open = i;
            ++depth;
        } else if (c == '>' || c == ')' || c == '}') {
            depth = std::max(0, depth - 1);
        } else if (c == ' ' && depth == 0) {
            begin = i + 1;
            open = std::string_view::npos;
        }
    }
    if (open == std::string_view::npos || open < begin) return {std::string(text.substr(begin, end - begin)), {}};
    std::string_view arguments = text.substr(open + 1, end - open - 1);
    while (!arguments.empty() && arguments.back() == ' ') arguments.remove_suffix(1);
    if (!arguments.empty() && arguments.back() == '>') arguments.remove_suffix(1);
    return {std::string(text.substr(begin, open - begin)), std::string(arguments)};
}

std::string_view firstArgument(std::string_view arguments)
{
    int depth = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const char c = arguments[i];
        if (c == ',' && depth == 0) return arguments.substr(0, i);
        if (c == '<' || c == '(' || c == '{') ++depth;
        if (c == '>' || c == ')' || c == '}') --depth;
    }
    return arguments;
}

bool isType(std::string_view word)
{
    static constexpr std::array<std::string_view, 22> kTypes{
        "float",          "double",   "int",           "long",         "bool",       "char",   "short",
        "Half",           "BFloat16", "half_t",        "bfloat16_t",   "tfloat32_t", "__half", "__nv_bfloat16",
        "__hip_bfloat16", "_Float16", "Float8_e4m3fn", "float_e4m3_t", "bhalf_t",    "int8_t", "uint8_t",
        "__bf16"};
    return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

/// What only carries other things in PyTorch's and the libraries' kernels.
bool isFrame(std::string_view word)
{
    static constexpr std::array<std::string_view, 40> kFrames{"Array",
                                                              "TrivialOffsetCalculator",
                                                              "OffsetCalculator",
                                                              "LoadWithoutCast",
                                                              "StoreWithoutCast",
                                                              "LoadWithCast",
                                                              "StoreWithCast",
                                                              "TensorIteratorBase",
                                                              "TensorIterator",
                                                              "BinaryFunctor",
                                                              "AUnaryFunctor",
                                                              "BUnaryFunctor",
                                                              "UnaryFunctor",
                                                              "ReduceOp",
                                                              "func_wrapper_t",
                                                              "TensorListMetadata",
                                                              "FusedOptimizerTensorListMetadata",
                                                              "Params",
                                                              "lambda",
                                                              "operator",
                                                              "const",
                                                              "unsigned",
                                                              "signed",
                                                              "void",
                                                              "true",
                                                              "false",
                                                              "T1",
                                                              "integral_constant",
                                                              "tuple",
                                                              "memory",
                                                              "volatile",
                                                              "auto",
                                                              "alignas",
                                                              "gpu_kernel_impl",
                                                              "gpu_kernel_impl_nocast",
                                                              "type",
                                                              "TensorBase",
                                                              "Tensor",
                                                              "Scalar",
                                                              "decltype"};
    return std::find(kFrames.begin(), kFrames.end(), word) != kFrames.end() ||
           word.find("traits") != std::string_view::npos || word.starts_with("cublas") ||
           word.find("OffsetCalculator") != std::string_view::npos;
}

/// "CUDAFunctor_add" is "add", "MulFunctor" is "Mul", "sum_functor" is "sum", "direct_copy_kernel_cuda" is "direct_copy".
std::string plainFunctor(std::string_view word)
{
    for (const std::string_view begin : {"CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_"})
        if (word.starts_with(begin) && word.size() > begin.size()) word.remove_prefix(begin.size());
    for (const std::string_view end : {"Functor", "_functor", "_kernel_cuda", "_cuda", "_kernel", "KernelImpl", "Ops"})
        if (word.ends_with(end) && word.size() > end.size()) word.remove_suffix(end.size());
    return std::string(word);
}

/// The first word in template arguments that says what is done, and the first type.
std::pair<std::string, std::string> functorIn(std::string_view arguments)
{
    std::string functor, type;
    for (std::size_t i = 0; i < arguments.size() && (functor.empty() || type.empty());) {
        if (!isNameChar(arguments[i])) {
            ++i;
            continue;
        }
        std::size_t end = i;
        while (end < arguments.size() && isNameChar(arguments[end])) ++end;
        const std::string_view word = lastComponent(arguments.substr(i, end - i));
        i = end;
        if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) continue;
        if (isType(word)) {
            if (type.empty()) type = word;
        } else if (functor.empty() && !isFrame(word) && word.size() > 2) {
            functor = word;
        }
    }
    return {functor, type};
}

/// "vectorized_elementwise_kernel" is "elementwise"; a trailing "_kernel" says nothing.
std::string plainBase(std::string_view base)
{
    if (base.find("elementwise_kernel") != std::string_view::npos) return "elementwise";
    constexpr std::string_view kKernel = "_kernel";
    if (base.ends_with(kKernel) && base.size() > kKernel.size()) base.remove_suffix(kKernel.size());
    return std::string(base);
}

std::string kernelName(std::string_view text, int depth)
{
    const KernelName parts = takenApart(text);
    std::string_view base = lastComponent(parts.qualified);
    const bool onlyFrame =
        base == "Kernel" || base == "Kernel2" || base == "device_kernel" || base == "kernel" || base == "run_kernel";
    if (onlyFrame && depth < kDeepestKernel) {
        // The kernel itself is the first template argument, unless that is a plain type.
        const std::string_view inner = firstArgument(parts.arguments);
        const std::string_view first = lastComponent(inner.substr(0, inner.find_first_of("<,> ")));
        if (!first.empty() && isNameChar(first.front()) && !isType(first) &&
            std::isdigit(static_cast<unsigned char>(first.front())) == 0)
            return kernelName(inner, depth + 1);
        const std::string_view outer =
            std::string_view(parts.qualified).substr(0, parts.qualified.size() - base.size());
        if (outer.size() > 2) base = lastComponent(outer.substr(0, outer.size() - 2));
    }
    const auto [functor, type] = functorIn(parts.arguments);
    std::string result = plainBase(base);
    if (!functor.empty() && plainFunctor(functor) != result) result += std::string(kDot) + plainFunctor(functor);
    if (!type.empty()) result += "<" + type + ">";
    return result;
}

bool isNccl(std::string_view& name)
{
    for (const std::string_view begin :
         {"ncclDevKernel_", "ncclKernel_", "rcclDevKernel_", "rcclKernel_", "mscclKernel_"})
        if (name.starts_with(begin) && name.size() > begin.size()) {
            name = name.substr(begin.size());
            return true;
        }
    return false;
}

/// Of a mangled name that nobody could write out (its template arguments are too many): the function's own name, the last of
/// those in front of the arguments. Empty: it is none, or of another form.
std::string_view mangledBase(std::string_view name)
{
    if (!name.starts_with("_Z")) return {};
    std::size_t at = name.starts_with("_ZN") ? 3 : 2;
    std::string_view base;
    while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0) {
        std::size_t length = 0;
        for (; at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0; ++at)
            length = std::min(name.size(), length * 10 + static_cast<std::size_t>(name[at] - '0'));
        if (length == 0 || length > name.size() - at) break;
        base = name.substr(at, length);
        at += length;
    }
    return base;
}

} // namespace

std::string shortName(std::string_view name, std::string_view detail)
{
    if (const std::string_view base = mangledBase(name); !base.empty()) return std::string(base);
    if (const auto frame = pythonFrame(name)) return *frame;
    if (const auto method = builtIn(name)) return *method;
    constexpr std::string_view kModule = "nn.Module: ";
    if (name.starts_with(kModule) && name.size() > kModule.size()) return std::string(name.substr(kModule.size()));
    constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
    if (name.starts_with(kEvaluate) && name.size() > kEvaluate.size())
        return std::string(name.substr(kEvaluate.size())) + std::string(kDot) + "autograd";
    std::string_view rest = name;
    if (isNccl(rest)) {
        rest = rest.substr(0, rest.find('('));
        // One kernel does whatever was asked for, under the name of another operation: what was asked for counts.
        const std::string_view asked = detail.substr(0, detail.find(';'));
        if (!asked.empty() && !asked.starts_with("grid")) return std::string(asked.substr(0, 60));
        return std::string(rest.starts_with("Generic") ? name.substr(0, name.find('(')) : rest);
    }
    // What is no C++ of a kernel stays as it is: "aten::mm", "Memcpy HtoD (Pageable -> Device)", "step 5 (warm)".
    const bool isVoid = name.starts_with("void ");
    const std::size_t open = name.find_first_of("<(");
    const bool callable =
        open != std::string_view::npos && open > 0 && (isNameChar(name[open - 1]) || name.find("::") < open);
    const bool scoped = open == std::string_view::npos && name.find(' ') == std::string_view::npos &&
                        name.find("::") != std::string_view::npos && name.find("::") != name.rfind("::");
    if (!isVoid && !callable && !scoped) return std::string(name);
    std::string text(name);
    for (const std::string_view nameless :
         {"(anonymous namespace)::", "<unnamed>::", "_GLOBAL__N__1::", "_GLOBAL__N_1::"})
        removeAll(text, nameless);
    const std::string result = kernelName(text, 0);
    return result.empty() ? std::string(name) : result;
}

namespace {

std::size_t commonLength(std::string_view left, std::string_view right)
{
    const auto [at, other] = std::ranges::mismatch(left, right);
    return static_cast<std::size_t>(at - left.begin());
}

/// Of names that read the same when they are short, what tells each from the others: from the word in which it differs
/// from the one that is most like it. All empty where even that is not enough.
std::map<std::string, std::string> tailsOf(const std::set<std::string>& alike)
{
    constexpr std::size_t kMostLetters = 40;
    std::map<std::string, std::string> tails;
    std::set<std::string> different;
    for (auto name = alike.begin(); name != alike.end(); ++name) {
        // In the order of letters the one that is most like it stands beside it.
        std::size_t at = 0;
        if (name != alike.begin()) at = std::max(at, commonLength(*name, *std::prev(name)));
        if (std::next(name) != alike.end()) at = std::max(at, commonLength(*name, *std::next(name)));
        while (at > 0 && isNameChar((*name)[at - 1])) --at;
        const std::string tail = name->substr(at, kMostLetters);
        if (!tail.empty()) different.insert(tail);
        tails.emplace(*name, tail);
    }
    if (different.size() < alike.size())
        for (auto& [name, tail] : tails) tail.clear();
    return tails;
}

} // namespace

std::vector<std::string> shortNames(std::span<const std::string> names)
{
    std::vector<std::string> result;
    std::map<std::string, std::set<std::string>> whole;
    for (const std::string& name : names) {
        result.push_back(shortName(name));
        whole[result.back()].insert(name);
    }
    std::map<std::string, std::map<std::string, std::string>> tails;
    for (const auto& [shown, alike] : whole)
        if (alike.size() > 1) tails.emplace(shown, tailsOf(alike));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto found = tails.find(result[i]);
        if (found == tails.end()) continue;
        const std::string& tail = found->second.at(names[i]);
        result[i] = tail.empty() ? names[i] : result[i] + std::string(kDot) + tail;
    }
    return result;
}

} // namespace fourwalls
