// SPDX-License-Identifier: Apache-2.0
// `import`: one or several foreign profiles of one run into a trace.
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/import/import_registry.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"

#include <filesystem>

namespace fourwalls::cli {

namespace {

class ImportVerb : public Verb {
public:
    const char* name() const override { return "import"; }
    const char* summary() const override { return "make a trace of profiles that other tools recorded"; }
    const char* examples() const override
    {
        return "  fourwalls-cli import rank0.pt.trace.json.gz -o run.fourwalls\n"
               "  fourwalls-cli import job/rank*.json.gz -o job.fourwalls\n"
               "Several files of one run become one trace: ranks are told from the files or their names, and clocks\n"
               "are aligned on the collectives that ranks have in common.";
    }
    Arguments arguments() override
    {
        return {Argument("FILES", &m_files, "profiles of one run").required(),
                {"--steps-by", &m_stepsBy,
                 "what a step is: marks, \"range NAME\", \"kernel NAME\", \"period MS\" or whole (default: found by "
                 "rules)"},
                Argument("-o,--output", &m_output, "the trace to write").required()};
    }

    int run(Console& console) override
    {
        const auto steps = importers::readStepChoice(m_stepsBy);
        if (!steps) return console.wrongUsage(steps.error());
        const StopSignals signals;
        Progress progress("importing");
        importers::ImportOptions options;
        options.steps = *steps;
        options.progress = [&progress](double fraction) { progress(kWritingShare * fraction); };
        options.stop = signals.token();
        options.scratchFolder = std::filesystem::absolute(m_output).parent_path().string();
        const auto import = importers::openImport(m_files, options);
        if (!import) return console.fail(import.error());
        auto output = PendingOutput::create(m_output, m_files);
        if (!output) return console.fail(output.error());
        const auto audit = write(**import, output->temporaryPath(), options, progress);
        if (!audit) return console.fail(audit.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return report(console, **import, *audit);
    }

private:
    /// Share of the progress until the last record is handed over.
    static constexpr double kWritingShare = 0.6;

    /// Writes the trace; gives its audit.
    Result<TraceInfo> write(importers::TraceImport& import, const std::string& path,
                            const importers::ImportOptions& options, Progress& progress) const
    {
        store::WriterOptions writerOptions;
        writerOptions.finishProgress = [&progress](double fraction) {
            progress(kWritingShare + (1 - kWritingShare) * fraction);
        };
        writerOptions.finishStop = options.stop;
        {
            FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                                 store::TraceWriter::create(path, import.header(), writerOptions));
            FOURWALLS_TRY(import.write(*writer, options));
            FOURWALLS_TRY(writer->finish(import.closing()));
        }
        FOURWALLS_TRY_ASSIGN(const auto trace, store::openTrace(path));
        return trace->info();
    }

    int report(Console& console, const importers::TraceImport& import, const TraceInfo& info) const
    {
        if (console.json()) {
            nlohmann::json object{{"file", m_output},
                                  {"producer", import.header().producer},
                                  {"ranks", info.header.ranks.size()},
                                  {"slices", info.counts.slices},
                                  {"allocations", info.counts.allocations},
                                  {"collectives", info.counts.collectives},
                                  {"flows", info.counts.flows},
                                  {"steps", info.stepCount}};
            object["audit"] = nlohmann::json::array();
            for (const AuditRecord& record : info.audit)
                object["audit"].push_back({{"name", record.name},
                                           {"severity", fourwalls::name(record.severity)},
                                           {"count", record.count},
                                           {"detail", record.detail}});
            return console.answerJson(object);
        }
        std::string text = m_output + ": " + formatCount(info.counts.slices) + " slices on " +
                           formatCount(static_cast<std::int64_t>(info.header.ranks.size())) + " ranks from " +
                           import.header().producer;
        for (const AuditRecord& record : info.audit)
            if (record.severity != AuditSeverity::Info)
                text += "\n  " + std::string(fourwalls::name(record.severity)) + ": " + record.name + " " +
                        formatCount(record.count) + (record.detail.empty() ? "" : " (" + record.detail + ")");
        return console.answerText(text);
    }

    std::vector<std::string> m_files;
    std::string m_output, m_stepsBy;
};

} // namespace

std::unique_ptr<Verb> makeImportVerb()
{
    return std::make_unique<ImportVerb>();
}

} // namespace fourwalls::cli
