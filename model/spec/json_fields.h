// SPDX-License-Identifier: Apache-2.0
// Reading the fields of a JSON object with ranges and types checked, so that an error names the field.
#pragma once

#include "model/base/result.h"
#include "model/spec/names.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace fourwalls {

/// Parses JSON text; comments are not allowed. Errors: Format with line and column.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where);

/// One object of a document. Reads stop changing anything after the first error, which status() returns.
class JsonFields {
public:
    /// where: file or document; path: of this object inside it ("model"), empty for the root.
    JsonFields(const nlohmann::json& object, std::string_view where, std::string_view path);

    /// Each reads a field into `target`; an absent field leaves it unless `required`.
    void integer(const char* key, std::int64_t& target, std::int64_t least, std::int64_t most, bool required = false);
    void number(const char* key, double& target, double least, double most, bool required = false);
    void text(const char* key, std::string& target, bool required = false);
    void flag(const char* key, bool& target);
    void unsignedInteger(const char* key, std::uint64_t& target);

    template <class Enum, std::size_t N>
    void word(const char* key, const WordTable<Enum, N>& table, Enum& target)
    {
        std::string word;
        const bool given = find(key, false) != nullptr;
        text(key, word);
        if (!given || !m_status.ok()) return;
        if (const auto value = valueOf(table, word))
            target = *value;
        else
            fail(key, "cannot be '" + word + "'", listWords(table));
    }

    /// The field, or null; an error if it is required and absent.
    const nlohmann::json* find(const char* key, bool required);
    void fail(const char* key, const std::string& what, const std::string& hint = {});

    const Status& status() const { return m_status; }

private:
    const nlohmann::json& m_object;
    std::string m_where, m_path;
    Status m_status;
};

} // namespace fourwalls
