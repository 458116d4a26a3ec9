// SPDX-License-Identifier: Apache-2.0
// `score`: the cost model against tables of published measurements.
#include "app/cli/metrics_report.h"
#include "app/cli/verbs.h"
#include "model/compare/score.h"
#include "model/cost/closed_form.h"

#include <fmt/format.h>

namespace fourwalls::cli {

namespace {

using compare::ScoredRow;
using compare::ScoredTable;
using nlohmann::json;

json rowJson(const ScoredRow& row)
{
    json object{{"id", row.id},
                {"published_s", orNull(row.publishedSeconds)},
                {"predicted_s", orNull(row.predictedSeconds)},
                {"error_pct", orNull(row.errorPercent)},
                {"low_s", orNull(row.lowSeconds)},
                {"high_s", orNull(row.highSeconds)},
                {"published_mem_gb", orNull(row.publishedMemoryGb)},
                {"predicted_mem_gb", orNull(row.predictedMemoryGb)},
                {"assumed", row.assumed}};
    object["widened_by"] = json::array();
    for (const auto& [assumed, percent] : row.widened)
        object["widened_by"].push_back({{"assumed", assumed}, {"pct", percent}});
    if (!row.skipped.empty()) object["skipped"] = row.skipped;
    if (row.outOfMemory) object["out_of_memory"] = true;
    if (row.feasible) object["feasible"] = *row.feasible;
    if (row.dominant.empty()) return object;
    object["dominant_term"] = row.dominant;
    json parts = json::object();
    for (std::size_t i = 0; i < cost::kCostParts; ++i) {
        const auto part = static_cast<cost::CostPart>(i);
        if (row.parts[part] > 0) parts[std::string(cost::name(part))] = row.parts[part];
    }
    object["parts_s"] = std::move(parts);
    return object;
}

json tableJson(const ScoredTable& table)
{
    json object{{"file", table.file}, {"rows", table.rows}, {"predicted", table.predicted}};
    if (!table.notScored.empty()) {
        object["not_scored"] = table.notScored;
        return object;
    }
    object["time_mae_pct"] = orNull(table.timeMaePercent);
    object["time_bias_pct"] = orNull(table.timeBiasPercent);
    object["time_max_pct"] = orNull(table.timeMaxPercent);
    object["mem_mae_pct"] = orNull(table.memoryMaePercent);
    object["band_coverage_pct"] = orNull(table.bandCoveragePercent);
    object["band_half_width_pct"] = orNull(table.bandHalfWidthPercent);
    object["rank_agreement_pct"] = orNull(table.rankAgreementPercent);
    object["items"] = json::array();
    for (const ScoredRow& row : table.items) object["items"].push_back(rowJson(row));
    return object;
}

std::string number(const std::optional<double>& value, int digits = 1)
{
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string tableText(const ScoredTable& table, bool rows)
{
    if (!table.notScored.empty()) return fmt::format("{}: not scored ({})\n", table.file, table.notScored);
    std::string text;
    if (rows)
        for (const ScoredRow& row : table.items)
            text += row.skipped.empty()
                        ? fmt::format("  {:<40} {:>10} s published {:>10} s predicted {:>7} %   {}\n", row.id,
                                      number(row.publishedSeconds, 3), number(row.predictedSeconds, 3),
                                      number(row.errorPercent), row.dominant)
                        : fmt::format("  {:<40} skipped: {}\n", row.id, row.skipped);
    for (const ScoredRow& row : table.items)
        for (const auto& [assumed, percent] : row.widened)
            if (rows)
                text += fmt::format("  {:<40} {} assumed; the other reading: {:+.1f} %\n", row.id, assumed, percent);
    text += fmt::format("{:<28} {:>4} of {:>4} rows, time: mean error {} %, bias {} %, largest {} %; in the band {} % "
                        "(half of it {} %); "
                        "memory: mean error {} %; ranks agree {} %\n",
                        table.file, table.predicted, table.rows, number(table.timeMaePercent),
                        number(table.timeBiasPercent), number(table.timeMaxPercent),
                        number(table.bandCoveragePercent, 0), number(table.bandHalfWidthPercent),
                        number(table.memoryMaePercent), number(table.rankAgreementPercent));
    return text;
}

class ScoreVerb : public Verb {
public:
    const char* name() const override { return "score"; }
    const char* summary() const override { return "the cost model against tables of published measurements"; }
    const char* examples() const override
    {
        return "  fourwalls-cli score resources/validation/*.csv\n"
               "  fourwalls-cli score --rows resources/validation/megatron-2021-table1.csv";
    }
    Arguments arguments() override
    {
        return {Argument("TABLE", &m_files, "tables with the columns of resources/validation").required(),
                {"--calibration", &m_calibration, "constants from micro-benchmarks: a name or a file"},
                {"--rows", &m_rows, "every row, not only the tables' figures"}};
    }

    int run(Console& console) override
    {
        const auto calibration = loadCalibration(m_calibration);
        if (!calibration) return console.fail(calibration.error());
        json files = json::array();
        std::string text;
        for (const std::string& file : m_files) {
            const auto table = compare::scoreTable(file, *calibration);
            if (!table) return console.fail(table.error());
            if (console.json())
                files.push_back(tableJson(*table));
            else
                text += tableText(*table, m_rows);
        }
        if (console.json()) return console.answerJson({{"files", std::move(files)}});
        if (!text.empty()) text.pop_back();
        return console.answerText(text);
    }

private:
    std::vector<std::string> m_files;
    std::string m_calibration = "published";
    bool m_rows = false;
};

} // namespace

std::unique_ptr<Verb> makeScoreVerb()
{
    return std::make_unique<ScoreVerb>();
}

} // namespace fourwalls::cli
