// SPDX-License-Identifier: Apache-2.0
// Field by field reading of JSON objects; the JSON library's exceptions end here.
#include "model/spec/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fourwalls {

namespace {

/// How deep brackets nest, outside of strings. Copying and printing JSON recurses, so depth is stack.
std::size_t nestingOf(std::string_view text)
{
    std::size_t depth = 0, deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

} // namespace

Result<nlohmann::json> parseJson(std::string_view text, std::string_view where)
{
    constexpr std::size_t kDeepest = 64;
    if (nestingOf(text) > kDeepest)
        return Error{ErrorCode::Format, fmt::format("brackets nest deeper than {}", kDeepest), std::string(where),
                     "a description without nested lists"};
    try {
        return nlohmann::json::parse(text.begin(), text.end());
    } catch (const nlohmann::json::parse_error& error) {
        const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
        const std::string_view before = text.substr(0, at);
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
        return Error{ErrorCode::Format, fmt::format("not JSON: error in line {}, column {}", line, at - lineStart + 1),
                     std::string(where), "check commas, quotes and brackets near there"};
    }
}

JsonFields::JsonFields(const nlohmann::json& object, std::string_view where, std::string_view path)
    : m_object(object)
    , m_where(where)
    , m_path(path)
{
    if (!m_object.is_object())
        m_status =
            Error{ErrorCode::Format,
                  (m_path.empty() ? std::string("the document") : "\"" + m_path + "\"") + " is not a JSON object",
                  m_where, "{\"field\": value, ...}"};
}

void JsonFields::fail(const char* key, const std::string& what, const std::string& hint)
{
    if (!m_status.ok()) return;
    const std::string field = m_path.empty() ? std::string(key) : m_path + "." + key;
    m_status = Error{ErrorCode::Format, "field \"" + field + "\" " + what, m_where, hint};
}

const nlohmann::json* JsonFields::find(const char* key, bool required)
{
    if (!m_status.ok()) return nullptr;
    const auto found = m_object.find(key);
    if (found != m_object.end() && !found->is_null()) return &*found;
    if (required) fail(key, "is missing");
    return nullptr;
}

void JsonFields::integer(const char* key, std::int64_t& target, std::int64_t least, std::int64_t most, bool required)
{
    const nlohmann::json* field = find(key, required);
    if (!field) return;
    const std::string range = fmt::format("{} to {}", least, most);
    if (!field->is_number()) return fail(key, "is not a number", "a whole number from " + range);
    // 80e9 is a whole number, too; comparing as double first keeps the conversion in range.
    const double value = field->get<double>();
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value))
        return fail(key, "is out of range", "a whole number from " + range);
    target = field->is_number_integer() ? field->get<std::int64_t>() : static_cast<std::int64_t>(value);
}

void JsonFields::unsignedInteger(const char* key, std::uint64_t& target)
{
    const nlohmann::json* field = find(key, false);
    if (!field) return;
    if (!field->is_number_unsigned()) return fail(key, "is not a whole number of 0 or more");
    target = field->get<std::uint64_t>();
}

void JsonFields::number(const char* key, double& target, double least, double most, bool required)
{
    const nlohmann::json* field = find(key, required);
    if (!field) return;
    if (!field->is_number()) return fail(key, "is not a number");
    const double value = field->get<double>();
    if (!(value >= least && value <= most)) return fail(key, "is out of range");
    target = value;
}

void JsonFields::text(const char* key, std::string& target, bool required)
{
    const nlohmann::json* field = find(key, required);
    if (!field) return;
    if (!field->is_string()) return fail(key, "is not a text");
    target = field->get<std::string>();
}

void JsonFields::flag(const char* key, bool& target)
{
    const nlohmann::json* field = find(key, false);
    if (!field) return;
    if (!field->is_boolean()) return fail(key, "is not true or false");
    target = field->get<bool>();
}

} // namespace fourwalls
