// SPDX-License-Identifier: Apache-2.0
// The call stacks of a PyTorch memory snapshot, each once: whose line asked for a buffer, by which operator, and what the
// frames say about its purpose.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// What the frame nearest to the allocation that says anything says. None: no stack. Silent: a stack that does not tell.
enum class StackRole : std::uint8_t {
    None,
    Silent,
    Module,
    Backward,
    Optimizer,
    ZeroGradients,
    WeightSetUp,
    Workspace,
    Communication
};

/// Frames are calls (function, file, line); a stack is a row of them, innermost first. Texts, calls and stacks are kept
/// once: a snapshot of millions of entries has some hundreds of stacks.
class SnapshotStacks {
public:
    /// line: 0 if not said.
    std::int32_t call(std::string_view function, std::string_view file, std::int64_t line);
    /// The stack of these calls; -1 for none.
    std::int32_t stack(std::span<const std::int32_t> calls);

    std::size_t size() const { return m_stacks.size(); }
    StackRole role(std::int32_t stack) const
    {
        return stack < 0 ? StackRole::None : m_stacks[static_cast<std::size_t>(stack)].role;
    }
    /// Whether the stack goes through the backward pass, whatever its role is (recomputation is a module's call in it).
    bool inBackward(std::int32_t stack) const
    {
        return stack >= 0 && m_stacks[static_cast<std::size_t>(stack)].inBackward;
    }

    /// "step · optimizer.py:77": the first Python frame outside of PyTorch's own files, else the first Python frame, else
    /// the node of the backward pass ("MulBackward0 · autograd"), the operator or the first function that is not the
    /// allocator's.
    std::string name(std::int32_t stack) const;
    /// "aten::mul": the operator that the first Python frame (or the node of the backward pass) called; empty: not said.
    std::string atenOperator(std::int32_t stack) const;
    enum class Frames { All, Python };
    /// The operator, if known, and every frame, each in a line of its own. C++ functions without their arguments.
    std::string text(std::int32_t stack, Frames frames) const;

private:
    struct Call {
        std::string function, file; ///< C++ functions without arguments and template parameters
        std::string aten, node;     ///< what a C++ function says; empty: nothing
        std::int64_t line = 0;
        StackRole says = StackRole::Silent;
        bool python = false, ofTorch = false, ofAllocator = false, makesTensor = false, ofLibrary = false,
             backward = false, appliesFunction = false;
    };
    struct Stack {
        std::size_t begin = 0, size = 0; ///< in m_calls
        StackRole role = StackRole::Silent;
        bool inBackward = false;
    };
    static Call describe(std::string_view function, std::string_view file, std::int64_t line);
    std::span<const std::int32_t> callsOf(std::int32_t stack) const;
    const Call& at(std::int32_t call) const { return m_known[static_cast<std::size_t>(call)]; }
    StackRole roleOf(std::span<const std::int32_t> calls) const;

    std::deque<Call> m_known;
    std::unordered_map<std::string, std::int32_t> m_callIds;
    std::vector<std::int32_t> m_calls;
    std::vector<Stack> m_stacks;
    std::unordered_multimap<std::uint64_t, std::int32_t> m_stackIds; ///< by a hash of the calls
};

/// "torch::autograd::Node::operator()": without template parameters, arguments and qualifiers behind them.
std::string withoutArguments(std::string_view function);

/// "index" of "index_Tensor": the operator in the name of one of its overloads as C++ has them.
std::string operatorOfOverload(std::string_view overload);

/// The file's name without folders; of Windows paths, too.
std::string_view fileNameOf(std::string_view path);

/// Whether a Python file is PyTorch's own, was written by its compiler, or only hands calls on to it (einops).
bool isFileOfTorch(std::string_view path);

} // namespace fourwalls::importers
