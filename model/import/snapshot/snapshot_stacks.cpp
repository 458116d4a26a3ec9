// SPDX-License-Identifier: Apache-2.0
// Reading frames. Names of functions and files are those of PyTorch 2.0 to 2.9.
#include "model/import/snapshot/snapshot_stacks.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <optional>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestFunction = 300, kLongestFile = 400;

bool holdsText(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> words)
{
    return std::find(words.begin(), words.end(), text) != words.end();
}

std::vector<std::string_view> partsOf(std::string_view path)
{
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
        if (end > 0) parts.push_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

bool isPythonFile(std::string_view file)
{
    return file.ends_with(".py") || file.ends_with(".pyx") || file.ends_with(".ipynb") || file.starts_with("<");
}

/// Libraries that only pass a call on to PyTorch: the line that matters is their caller's.
bool isWrapper(std::string_view path)
{
    const std::vector<std::string_view> parts = partsOf(path);
    for (std::size_t i = 1; i < parts.size(); ++i)
        if (isOneOf(parts[i - 1], {"site-packages", "dist-packages"}) &&
            isOneOf(parts[i], {"einops", "einx", "opt_einsum", "jaxtyping", "typeguard", "beartype"}))
            return true;
    return false;
}

/// Cut between characters.
std::string cutText(std::string_view text, std::size_t most)
{
    if (text.size() <= most) return std::string(text);
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    return std::string(text.substr(0, most)) + "…";
}

/// A file of the torch package: its path within the package ("nn/modules/module.py"), by the last folder of that name
/// that a package can have.
std::optional<std::string> withinTorch(std::string_view path)
{
    const std::vector<std::string_view> parts = partsOf(path);
    for (std::size_t i = parts.size(); i-- > 0;) {
        if (parts[i] != "torch" || i + 1 == parts.size()) continue;
        const std::string_view above = i > 0 ? parts[i - 1] : std::string_view();
        const bool package = i == 0 || isOneOf(above, {"site-packages", "dist-packages"}) ||
                             above.starts_with("pytorch") || above.ends_with("link-tree") || above.ends_with(".par");
        if (!package) continue;
        std::string within;
        for (std::size_t j = i + 1; j < parts.size(); ++j)
            within += (within.empty() ? "" : "/") + std::string(parts[j]);
        return within;
    }
    return std::nullopt;
}

StackRole roleOfTorchFile(const std::string& within, std::string_view function)
{
    if (function == "zero_grad") return StackRole::ZeroGradients;
    if (within.starts_with("optim/") && !holdsText(within, "lr_scheduler") && !holdsText(within, "swa_utils"))
        return StackRole::Optimizer;
    if (within == "nn/modules/module.py") {
        if (isOneOf(function, {"_call_impl", "_wrapped_call_impl", "_slow_forward"})) return StackRole::Module;
        if (isOneOf(function, {"_apply", "to", "cuda", "convert", "to_empty", "half", "float", "bfloat16", "double"}))
            return StackRole::WeightSetUp;
    }
    if (within.starts_with("nn/") && isOneOf(function, {"__init__", "__new__", "reset_parameters"}))
        return StackRole::WeightSetUp;
    if ((within == "_tensor.py" && function == "backward") ||
        (within == "autograd/__init__.py" && isOneOf(function, {"backward", "grad", "_make_grads"})) ||
        (within == "autograd/graph.py" && function == "_engine_run_backward"))
        return StackRole::Backward;
    if (isOneOf(within, {"distributed/distributed_c10d.py", "distributed/_functional_collectives.py"}))
        return StackRole::Communication;
    return StackRole::Silent;
}

/// An optimizer of somebody else: by the file's and the function's name.
bool isForeignOptimizer(std::string_view path, std::string_view function)
{
    const std::vector<std::string_view> parts = partsOf(path);
    if (parts.empty()) return false;
    const std::string file = lowerCase(parts.back());
    const bool byFolder = parts.size() > 1 && isOneOf(parts[parts.size() - 2], {"optim", "optimizers", "optimizer"});
    return (byFolder || holdsText(file, "optim")) &&
           isOneOf(function, {"step", "_step", "_init_group", "_init_state", "init_state", "initialize_state",
                              "single_tensor_step", "multi_tensor_step"});
}

} // namespace

std::string_view fileNameOf(std::string_view path)
{
    const std::size_t slash = path.find_last_of("/\\");
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool isFileOfTorch(std::string_view path)
{
    const bool written = path.starts_with("<") && !path.starts_with("<ipython-input") && path != "<stdin>";
    return withinTorch(path).has_value() || written || isWrapper(path) || holdsText(path, "torchinductor_");
}

std::string withoutArguments(std::string_view function)
{
    std::string shown;
    int depth = 0;
    for (std::size_t i = 0; i < function.size(); ++i) {
        const std::string_view rest = function.substr(i);
        if (depth == 0 && rest.starts_with("operator")) {
            std::size_t end = 8; // its sign is no bracket
            while (end < rest.size() && holdsText("<>=()[]!&|+-*/%^~", rest.substr(end, 1))) {
                const bool call = rest.substr(end, 2) == "()";
                if (rest[end] == '(' && !call) break;
                end += call ? 2 : 1;
                if (call) break;
            }
            shown += rest.substr(0, end);
            i += end - 1;
            continue;
        }
        const bool unnamed = rest.starts_with("(anonymous namespace)");
        if (depth == 0 && unnamed) {
            shown += "(anonymous namespace)";
            i += 20;
            continue;
        }
        if (depth == 0 && rest[0] == '(') break; // the arguments
        if (rest[0] == '<') {
            if (depth++ == 0) shown += "<…>";
        } else if (rest[0] == '>' && depth > 0 && (i == 0 || function[i - 1] != '-')) {
            --depth;
        } else if (rest[0] == '(' && depth > 0) {
            // Brackets within parameters may hold signs of comparison: skipped whole.
            int open = 0;
            for (; i < function.size(); ++i) {
                open += function[i] == '(' ? 1 : function[i] == ')' ? -1 : 0;
                if (open == 0) break;
            }
        } else if (depth == 0) {
            shown += rest[0];
        }
    }
    while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    // The type of what is returned, which templates have in front.
    const std::size_t space = shown.rfind(' ');
    if (space != std::string::npos && !holdsText(shown, "(anonymous namespace)") && !holdsText(shown, "operator"))
        shown.erase(0, space + 1);
    return shown.empty() ? std::string(function) : shown;
}

std::string operatorOfOverload(std::string_view overload)
{
    static constexpr std::array<std::string_view, 12> kOverloads{
        "_dim_IntList", "_memory_format", "_dtype_layout", "_dtype", "_start_step", "_start",
        "_grad_input",  "_output_mask",   "_dim",          "_int",   "_out",        "_names"};
    for (std::size_t i = 1; i + 1 < overload.size(); ++i) {
        if (overload[i] != '_' || overload[i + 1] < 'A' || overload[i + 1] > 'Z') continue;
        if (overload.substr(0, i).find_first_not_of('_') == std::string_view::npos) continue;
        overload = overload.substr(0, i);
        break;
    }
    for (const std::string_view each : kOverloads) {
        if (overload.size() <= each.size() + 1 || !overload.ends_with(each)) continue;
        overload.remove_suffix(each.size());
        break;
    }
    return std::string(overload);
}

SnapshotStacks::Call SnapshotStacks::describe(std::string_view function, std::string_view file, std::int64_t line)
{
    Call made;
    made.line = line;
    made.python = isPythonFile(file);
    if (made.python) {
        made.function = cutText(function, kLongestFunction);
        made.file = cutText(file, kLongestFile);
        const std::optional<std::string> within = withinTorch(file);
        made.ofTorch = isFileOfTorch(file);
        if (within)
            made.says = roleOfTorchFile(*within, function);
        else if (isForeignOptimizer(file, function))
            made.says = StackRole::Optimizer;
        // Sharded parameters come and go within modules' calls and are no activations.
        made.ofLibrary =
            made.says == StackRole::Silent &&
            ((within && (within->starts_with("distributed/fsdp/") || within->starts_with("distributed/_composable/") ||
                         *within == "distributed/utils.py")) ||
             holdsText(file, "deepspeed/runtime/zero"));
        made.backward = made.says == StackRole::Backward ||
                        (within && *within == "utils/checkpoint.py" && isOneOf(function, {"backward", "unpack_hook"}));
        made.appliesFunction = within && *within == "autograd/function.py" && function == "apply";
        return made;
    }
    made.function = cutText(withoutArguments(function), kLongestFunction);
    made.file = file == "??" ? std::string() : cutText(fileNameOf(file), kLongestFile);
    const std::string_view name = made.function;
    made.ofAllocator = name.starts_with("c10::cuda::CUDACachingAllocator") ||
                       name.starts_with("c10::hip::HIPCachingAllocator") || holdsText(name, "CachingAllocator::") ||
                       holdsText(name, "CapturedTraceback") || holdsText(name, "torch::unwind") ||
                       holdsText(name, "gather_with_cpp") || name == "gather";
    made.makesTensor = holdsText(name, "empty_generic") || holdsText(name, "empty_cuda") ||
                       holdsText(name, "empty_strided") || holdsText(name, "resize_bytes") ||
                       holdsText(name, "_ops::empty");
    constexpr std::string_view kOps = "at::_ops::";
    if (name.starts_with(kOps) && name.ends_with("::call"))
        made.aten = "aten::" + operatorOfOverload(name.substr(kOps.size(), name.size() - kOps.size() - 6));
    else if (name.starts_with("aten::"))
        made.aten = made.function;
    constexpr std::string_view kGenerated = "torch::autograd::generated::";
    if (name.starts_with(kGenerated) && name.ends_with("::apply"))
        made.node = made.function.substr(kGenerated.size(), name.size() - kGenerated.size() - 7);
    if (name == "torch::autograd::AccumulateGrad::apply") made.node = "AccumulateGrad";
    made.backward = name.starts_with("torch::autograd::Engine::") || name.starts_with("torch::autograd::Node::") ||
                    name.starts_with("torch::autograd::python::PythonEngine::thread_init") ||
                    name.starts_with("torch::autograd::AccumulateGrad") || !made.node.empty();
    if (holdsText(function, "c10d::") || holdsText(function, "ProcessGroupNCCL") || name.starts_with("nccl"))
        made.says = StackRole::Communication;
    else if (holdsText(name, "getCurrentCUDABlas") || holdsText(name, "getCUDABlasLtWorkspace") ||
             holdsText(name, "orkspace"))
        made.says = StackRole::Workspace;
    else if (made.backward)
        made.says = StackRole::Backward;
    // What these take without making a tensor of it is their scratch memory.
    else if (name.starts_with("at::cuda::blas::") || holdsText(name, "cudnn"))
        made.ofLibrary = true;
    return made;
}

std::int32_t SnapshotStacks::call(std::string_view function, std::string_view file, std::int64_t line)
{
    std::string key(function);
    key += '\n';
    key += file;
    key += '\n';
    key += std::to_string(line);
    const auto [found, isNew] = m_callIds.try_emplace(std::move(key), static_cast<std::int32_t>(m_known.size()));
    if (isNew) m_known.push_back(describe(function, file, line));
    return found->second;
}

std::span<const std::int32_t> SnapshotStacks::callsOf(std::int32_t stack) const
{
    const Stack& found = m_stacks[static_cast<std::size_t>(stack)];
    return std::span(m_calls).subspan(found.begin, found.size);
}

std::int32_t SnapshotStacks::stack(std::span<const std::int32_t> calls)
{
    if (calls.empty()) return -1;
    std::uint64_t hash = 14695981039346656037u;
    for (const std::int32_t each : calls) hash = (hash ^ static_cast<std::uint32_t>(each)) * 1099511628211u;
    const auto [first, last] = m_stackIds.equal_range(hash);
    for (auto at = first; at != last; ++at)
        if (std::ranges::equal(callsOf(at->second), calls)) return at->second;
    Stack made;
    made.begin = m_calls.size();
    made.size = calls.size();
    made.role = roleOf(calls);
    made.inBackward = made.role == StackRole::Backward ||
                      std::any_of(calls.begin(), calls.end(), [this](std::int32_t id) { return at(id).backward; });
    m_calls.insert(m_calls.end(), calls.begin(), calls.end());
    const auto id = static_cast<std::int32_t>(m_stacks.size());
    m_stacks.push_back(made);
    m_stackIds.emplace(hash, id);
    return id;
}

StackRole SnapshotStacks::roleOf(std::span<const std::int32_t> calls) const
{
    bool tensor = false;
    const Call* inner = nullptr; // the Python frame before
    for (const std::int32_t id : calls) {
        const Call& each = at(id);
        // A function of autograd's own class runs its two halves through the same frame.
        if (each.appliesFunction && inner && inner->function == "backward") return StackRole::Backward;
        if (each.python) inner = &each;
        tensor = tensor || each.makesTensor;
        if (each.says != StackRole::Silent) return each.says;
        if (!each.ofLibrary) continue;
        if (each.python) return StackRole::Silent;
        if (!tensor) return StackRole::Workspace;
    }
    return StackRole::Silent;
}

std::string SnapshotStacks::atenOperator(std::int32_t stack) const
{
    std::string name;
    for (const std::int32_t id : callsOf(stack)) {
        const Call& each = at(id);
        if (each.python || !each.node.empty()) break;
        if (!each.aten.empty()) name = each.aten;
    }
    return name;
}

std::string SnapshotStacks::name(std::int32_t stack) const
{
    const Call *users = nullptr, *python = nullptr, *node = nullptr, *other = nullptr;
    for (const std::int32_t id : callsOf(stack)) {
        const Call& each = at(id);
        if (each.python && !python) python = &each;
        if (each.python && !each.ofTorch && !users) users = &each;
        if (!each.node.empty() && !node) node = &each;
        if (!each.python && !each.ofAllocator && !other) other = &each;
    }
    if (!users && node) return node->node + " · autograd";
    if (const Call* shown = users ? users : python) {
        std::string text = shown->function + " · " + std::string(fileNameOf(shown->file));
        if (shown->line > 0) text += ":" + std::to_string(shown->line);
        return text;
    }
    const std::string aten = atenOperator(stack);
    if (!aten.empty()) return aten;
    return other ? other->function : at(callsOf(stack).front()).function;
}

std::string SnapshotStacks::text(std::int32_t stack, Frames frames) const
{
    std::string lines = atenOperator(stack);
    for (const std::int32_t id : callsOf(stack)) {
        const Call& each = at(id);
        if (frames == Frames::Python && !each.python) continue;
        if (!lines.empty()) lines += '\n';
        lines += each.function;
        if (!each.file.empty()) lines += " · " + each.file;
        if (!each.file.empty() && each.line > 0) lines += ":" + std::to_string(each.line);
    }
    return lines;
}

} // namespace fourwalls::importers
