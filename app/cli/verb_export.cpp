// SPDX-License-Identifier: Apache-2.0
// `export`: a trace for other programs.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/export/chakra_exporter.h"
#include "model/export/chrome_trace_exporter.h"
#include "model/export/csv_exporter.h"
#include "model/export/sqlite_exporter.h"

#include <algorithm>
#include <fstream>
#include <optional>

namespace fourwalls::cli {

namespace {

class ExportVerb : public Verb {
public:
    const char* name() const override { return "export"; }
    const char* summary() const override { return "write a trace for other programs"; }
    const char* examples() const override
    {
        return "  fourwalls-cli export run.fourwalls --format chrome -o run.json     (open it in ui.perfetto.dev)\n"
               "  fourwalls-cli export run.fourwalls --format csv -o run-tables      (a folder, one file per table)\n"
               "  fourwalls-cli export run.fourwalls --format sqlite-plain -o run.db\n"
               "  fourwalls-cli export run.fourwalls --format chakra --step 3 -o run-et (a folder, one .et per rank, "
               "for "
               "ASTRA-sim)\n"
               "  fourwalls-cli export run.fourwalls --format spec -o run-spec.json    (what ran, for `record` and "
               "`predict`)";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                Argument("--format", &m_format,
                         "chrome: trace event JSON; csv: a folder of tables; sqlite-plain: the same tables and views "
                         "of them in one database; chakra: a step as execution traces of MLCommons Chakra, a folder "
                         "with a file per rank; spec: model, plan, training and cluster as JSON")
                    .required()
                    .oneOf({"chrome", "csv", "sqlite-plain", "chakra", "spec"}),
                Argument("--step", &m_step, "chakra: the step to write; without it the typical one"),
                Argument("-o,--output", &m_output, "file, or folder for csv and chakra").required()};
    }

    int run(Console& console) override
    {
        if (m_step && m_format != "chakra")
            return console.wrongUsage({ErrorCode::InvalidArgument, "only chakra writes one step", "--step", ""});
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        auto output = PendingOutput::create(m_output, OutputKind::Other, {m_file});
        if (!output) return console.fail(output.error());
        const Status written = write(**trace, output->temporaryPath(), console);
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return console.json() ? console.answerJson(nlohmann::json{{"file", m_output}, {"format", m_format}})
                              : console.answerText(m_output);
    }

private:
    Status write(TraceQuery& trace, const std::string& path, Console& console) const
    {
        const StopSignals signals; // so that an interrupted export leaves nothing behind
        Progress progress("exporting");
        const auto tell = [&progress](double fraction) { progress(fraction); };
        if (m_format == "csv") return exportCsv(trace, path, tell, signals.token());
        if (m_format == "sqlite-plain") return exportSqlite(trace, path, tell, signals.token());
        if (m_format == "chakra") {
            const auto step = m_step ? std::optional(StepIndex{
                                           static_cast<std::int32_t>(std::clamp<std::int64_t>(*m_step, -1, 1 << 30))})
                                     : std::nullopt;
            FOURWALLS_TRY_ASSIGN(const ChakraExport result, exportChakra(trace, path, step, signals.token()));
            if (result.withoutKind > 0)
                console.message(std::to_string(result.withoutKind) +
                                " operations that Chakra has no kind of, or with members in another step, are written "
                                "as computing");
            return {};
        }
        const auto& spec = trace.info().header.spec;
        if (m_format == "spec" && !spec)
            return Error{ErrorCode::NotFound, "the trace does not say what ran", m_file,
                         "a trace that Fourwalls recorded or predicted"};
        std::ofstream out(path, std::ios::binary);
        if (!out) return Error{ErrorCode::Io, "cannot be written", path, "check permissions"};
        if (m_format == "spec")
            out << toJson(*spec) << '\n';
        else
            FOURWALLS_TRY(exportChromeTrace(trace, out, tell, signals.token()));
        out.close();
        if (!out) return Error{ErrorCode::Io, "cannot be written", path, "check the free space"};
        return {};
    }

    std::string m_file, m_format, m_output;
    std::optional<std::int64_t> m_step;
};

} // namespace

std::unique_ptr<Verb> makeExportVerb()
{
    return std::make_unique<ExportVerb>();
}

} // namespace fourwalls::cli
