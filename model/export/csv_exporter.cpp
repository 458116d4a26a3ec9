// SPDX-License-Identifier: Apache-2.0
// See csv_exporter.h.
#include "model/export/csv_exporter.h"

#include "model/base/csv.h"
#include "model/export/export_text.h"
#include "model/export/trace_tables.h"

#include <filesystem>
#include <fstream>

namespace fourwalls {

namespace {

class CsvOutput final : public TableOutput {
public:
    explicit CsvOutput(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    Status begin(std::string_view table, std::span<const Column> columns) override
    {
        m_path = (m_folder / (std::string(table) + ".csv")).string();
        m_out.open(m_path, std::ios::binary);
        for (std::size_t i = 0; i < columns.size(); ++i) m_out << (i > 0 ? "," : "") << columns[i].name;
        m_out << "\r\n";
        return {};
    }

    bool row(std::span<const Cell> cells) override
    {
        bool first = true;
        for (const Cell& cell : cells) {
            if (!first) m_out << ',';
            first = false;
            if (const auto* number = cell.integer()) m_out << *number;
            if (const auto* number = cell.real()) m_out << shortestNumber(*number);
            if (const auto* text = cell.text()) m_out << csvField(*text);
        }
        m_out << "\r\n";
        return m_out.good();
    }

    Status end() override
    {
        m_out.close();
        if (m_out) return {};
        return Error{ErrorCode::Io, "cannot be written", m_path, "check permissions and free space"};
    }

private:
    std::filesystem::path m_folder;
    std::string m_path;
    std::ofstream m_out;
};

} // namespace

Status exportCsv(TraceQuery& trace, const std::string& folder, const std::function<void(double)>& progress,
                 std::stop_token stop)
{
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return Error{ErrorCode::Io, "the folder cannot be created: " + failure.message(), folder, "another place"};
    CsvOutput output(folder);
    return writeTables(trace, output, progress, stop);
}

} // namespace fourwalls
