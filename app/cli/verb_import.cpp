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
               "  fourwalls-cli import job/ -o job.fourwalls\n"
               "  fourwalls-cli import job.tar.zst --list\n"
               "  ssh node7 cat trace.json.gz | fourwalls-cli import - -o run.fourwalls\n"
               "  fourwalls-cli import train.log --log-line 'it (?P<step>\\d+) .*loss=(?P<loss>\\S+) "
               "(?P<step_time>\\S+)s' "
               "-o run.fourwalls\n"
               "Several files of one run become one trace: ranks are told from the files or their names, and clocks\n"
               "are aligned on the collectives that ranks have in common. Folders are searched with what is below\n"
               "them; zip and tar archives and what gzip, zstd, xz or bzip2 packed are unpacked.";
    }
    Arguments arguments() override
    {
        return {Argument("FILES", &m_files, "profiles of one run: files, folders, archives, or - for standard input")
                    .required(),
                {"--steps-by", &m_stepsBy,
                 "what a step is: marks, \"range NAME\", \"kernel NAME\", \"period MS\" or whole (default: found by "
                 "rules)"},
                {"--log-line", &m_logLine,
                 "the files are logs of a training: a regular expression that takes their lines apart by named groups, "
                 "(?P<step>\\d+), (?P<time>…), (?P<loss>…), (?P<lr>…), (?P<step_time>…); other names become counters"},
                {"--list", &m_list, "say which file is which rank, and write nothing"},
                {"-o,--output", &m_output, "the trace to write"}};
    }

    int run(Console& console) override
    {
        const auto steps = importers::readStepChoice(m_stepsBy);
        if (!steps) return console.wrongUsage(steps.error());
        if (m_list == !m_output.empty())
            return console.wrongUsage(wrongArgument("import", "either -o or --list is needed", "-o OUT.fourwalls"));
        const StopSignals signals;
        Progress progress("importing");
        importers::ImportOptions options;
        options.steps = *steps;
        options.logLine = m_logLine;
        options.progress = [&progress](double fraction) { progress(kWritingShare * fraction); };
        options.stop = signals.token();
        if (m_list) {
            const auto listing = importers::listImport(m_files, options);
            return listing ? list(console, *listing) : console.fail(listing.error());
        }
        options.scratchFolder = std::filesystem::absolute(m_output).parent_path().string();
        const auto import = importers::openImport(m_files, options);
        if (!import) return console.fail(import.error());
        auto output = PendingOutput::create(m_output, OutputKind::Trace, m_files);
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

    static int list(Console& console, const importers::ImportListing& listing)
    {
        if (console.json()) {
            nlohmann::json object{{"files", nlohmann::json::array()},
                                  {"left_alone", listing.leftAlone},
                                  {"left_alone_count", listing.leftAloneCount},
                                  {"unreadable", listing.lost},
                                  {"unreadable_count", listing.lostCount}};
            for (const auto& file : listing.files)
                object["files"].push_back({{"file", file.name},
                                           {"format", file.format},
                                           {"rank", file.rank ? nlohmann::json(*file.rank) : nlohmann::json(nullptr)},
                                           {"bytes", file.bytes}});
            return console.answerJson(object);
        }
        std::string text;
        for (const auto& file : listing.files)
            text += (file.rank ? "rank " + std::to_string(*file.rank) : std::string("rank told by the import")) + "  " +
                    file.format + "  " + formatBytes(file.bytes) + "  " + file.name + "\n";
        text += formatCount(static_cast<std::int64_t>(listing.files.size())) + " files";
        if (listing.leftAloneCount > 0)
            text += "; " + formatCount(listing.leftAloneCount) + " others are no profiles and left alone";
        if (listing.lostCount > 0) text += "; " + formatCount(listing.lostCount) + " cannot be read:";
        for (const std::string& each : listing.lost) text += "\n  " + each;
        return console.answerText(text);
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
    std::string m_output, m_stepsBy, m_logLine;
    bool m_list = false;
};

} // namespace

std::unique_ptr<Verb> makeImportVerb()
{
    return std::make_unique<ImportVerb>();
}

} // namespace fourwalls::cli
