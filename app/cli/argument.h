// SPDX-License-Identifier: Apache-2.0
// What a verb takes, as data. Only command_line.cpp knows the parser: its headers cost more to compile than a verb does.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fourwalls::cli {

/// name: the option or word that cannot be so.
inline Error wrongArgument(std::string name, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), std::move(name), std::move(hint)};
}

/// One argument: its names, where its value goes, a line of help. What stands there already is the default; help shows
/// it unless it is empty or zero. A bool is a flag without a value.
struct Argument {
    using Target = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                std::vector<std::string>*, std::optional<std::int64_t>*, std::optional<double>*>;

    std::string names; ///< "-o,--output"; a word without dashes, "FILE", is an argument by its place
    Target target;
    std::string help;
    bool isRequired = false;
    std::vector<std::string> words;            ///< that it may be; any if empty
    std::vector<std::string>* given = nullptr; ///< gets its name when the command line has it
    bool isCommand = false;                    ///< what follows "--", and nothing before it
    bool isSeveral = false;                    ///< an option whose values follow it, up to the next option

    Argument(std::string allNames, Target into, std::string line)
        : names(std::move(allNames))
        , target(into)
        , help(std::move(line))
    {}
    Argument required() const
    {
        Argument copy = *this;
        copy.isRequired = true;
        return copy;
    }
    Argument oneOf(std::vector<std::string> list) const
    {
        Argument copy = *this;
        copy.words = std::move(list);
        return copy;
    }
    Argument afterDashes() const
    {
        Argument copy = *this;
        copy.isCommand = true;
        return copy;
    }

    Argument several() const
    {
        Argument copy = *this;
        copy.isSeveral = true;
        return copy;
    }

    bool isFlag() const { return std::holds_alternative<bool*>(target); }
    bool isList() const { return std::holds_alternative<std::vector<std::string>*>(target); }
    std::string kind() const;        ///< of its value, for help: "INT", "NUMBER", "TEXT" or the words
    std::string defaultText() const; ///< empty where it is not worth showing

    /// Puts a word of the command line where it goes; a list gets one more. Whole numbers are decimal (010 is ten).
    /// name: as the message shall name the argument. Errors: InvalidArgument.
    Status read(const std::string& name, const std::string& word) const;
};

using Arguments = std::vector<Argument>;

} // namespace fourwalls::cli
