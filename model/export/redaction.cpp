// SPDX-License-Identifier: Apache-2.0
// Finding host names and paths in free text.
#include "model/export/redaction.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace fourwalls {

namespace {

constexpr const char* kPath = "(path)";

bool isWordCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool endsPath(char c)
{
    return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\'' || c == ')' || c == ',' ||
           c == ';';
}

/// Whether a path begins at `at`: an absolute one, one below home or a relative one with dots, or a drive letter.
bool pathBegins(const std::string& text, std::size_t at)
{
    if (at > 0 && (isWordCharacter(text[at - 1]) || text[at - 1] == '/' || text[at - 1] == '.')) return false;
    const auto begins = [&](std::string_view prefix) { return text.compare(at, prefix.size(), prefix) == 0; };
    if (begins("~/") || begins("./") || begins("../") || begins("\\\\") || begins("file://")) return true;
    if (begins("/") && at + 1 < text.size() && isWordCharacter(text[at + 1])) return true;
    return at + 2 < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0 && text[at + 1] == ':' &&
           (text[at + 2] == '\\' || text[at + 2] == '/');
}

std::string withoutPaths(const std::string& text)
{
    std::string clean;
    for (std::size_t i = 0; i < text.size();) {
        if (!pathBegins(text, i)) {
            clean += text[i++];
            continue;
        }
        clean += kPath;
        while (i < text.size() && !endsPath(text[i])) ++i;
    }
    return clean;
}

/// Replaces whole words only: the host "a" must not change "data".
std::string replacedWords(std::string text, const std::string& word, const std::string& by)
{
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
        const std::size_t end = at + word.size();
        const bool whole =
            (at == 0 || !isWordCharacter(text[at - 1])) && (end == text.size() || !isWordCharacter(text[end]));
        if (whole) text.replace(at, word.size(), by);
        at += whole ? by.size() : word.size();
    }
    return text;
}

bool looksLikePath(const std::string& text)
{
    return text.find('/') != std::string::npos || text.find('\\') != std::string::npos;
}

} // namespace

Redaction::Redaction(const std::vector<RankInfo>& ranks)
{
    std::set<std::string> known;
    for (const RankInfo& rank : ranks)
        if (!rank.host.empty() && known.insert(rank.host).second)
            m_hosts.emplace_back(rank.host, "host " + std::to_string(known.size()));
    std::sort(m_hosts.begin(), m_hosts.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string Redaction::text(const std::string& original) const
{
    std::string clean = withoutPaths(original);
    for (const auto& [host, alias] : m_hosts) clean = replacedWords(std::move(clean), host, alias);
    return clean;
}

TraceHeader Redaction::header(TraceHeader original) const
{
    for (RankInfo& rank : original.ranks)
        for (const auto& [host, alias] : m_hosts)
            if (rank.host == host) {
                rank.host = alias;
                break;
            }
    original.producer = text(original.producer);
    if (original.spec) {
        RunSpec& spec = *original.spec;
        if (!spec.training.dataFile.empty()) spec.training.dataFile = kPath;
        if (looksLikePath(spec.model.name)) spec.model.name = kPath;
        if (looksLikePath(spec.cluster.name)) spec.cluster.name = kPath;
        spec.unknownFieldsJson.clear(); // what we do not understand we cannot clean
    }
    return original;
}

} // namespace fourwalls
