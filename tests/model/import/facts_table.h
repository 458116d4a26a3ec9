// SPDX-License-Identifier: Apache-2.0
// The table of real profiles with independently computed figures: the committed ones, and the larger set that
// FOURWALLS_TRACES names.
#pragma once

#include <QString>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fourwalls::importers::test {

struct FactsRow {
    std::string path; ///< of the file
    std::map<std::string, std::string> columns;
};

/// Fields of one CSV record; quotes may hold commas, quotes and line breaks.
inline std::vector<std::string> csvRecord(std::istream& in)
{
    std::vector<std::string> fields;
    std::string field;
    bool quoted = false, any = false;
    for (int c = in.get(); c != EOF; c = in.get()) {
        any = true;
        if (quoted && c == '"' && in.peek() == '"')
            field += static_cast<char>(in.get());
        else if (c == '"')
            quoted = !quoted;
        else if (quoted || (c != ',' && c != '\n'))
            field += static_cast<char>(c);
        else {
            fields.push_back(field);
            field.clear();
            if (c == '\n') return fields;
        }
    }
    if (any) fields.push_back(field);
    return fields;
}

inline std::vector<FactsRow> factsTable(const std::string& folder)
{
    std::ifstream in(folder + "/facts.csv", std::ios::binary);
    std::vector<FactsRow> rows;
    const std::vector<std::string> names = csvRecord(in);
    for (std::vector<std::string> fields = csvRecord(in); !fields.empty(); fields = csvRecord(in)) {
        FactsRow row;
        for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) {
            std::string value = fields[i];
            if (!value.empty() && value.back() == '\r') value.pop_back();
            row.columns[names[i]] = value;
        }
        row.path = folder + "/" + row.columns["file"];
        rows.push_back(std::move(row));
    }
    return rows;
}

inline std::string committedFolder()
{
    return std::string(FOURWALLS_SOURCE_DIR) + "/tests/data/import";
}

/// The folder of the larger set; empty if the environment names none.
inline std::string largerFolder()
{
    const char* folder = std::getenv("FOURWALLS_TRACES");
    return folder ? folder : "";
}

} // namespace fourwalls::importers::test
