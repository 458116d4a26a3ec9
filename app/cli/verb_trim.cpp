// SPDX-License-Identifier: Apache-2.0
// `trim`: a smaller trace for sharing.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/ranges.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/export/trim_trace.h"
#include "model/store/trace_writer.h"

namespace fourwalls::cli {

namespace {

class TrimVerb : public Verb {
public:
    const char* name() const override { return "trim"; }
    const char* summary() const override { return "keep some steps, a range of time or some ranks"; }
    const char* examples() const override
    {
        return "  fourwalls-cli trim run.fourwalls --steps 2-4 -o three-steps.fourwalls\n"
               "  fourwalls-cli trim run.fourwalls --range 1.5s:1.6s --ranks 0,2-3 -o piece.fourwalls\n"
               "  fourwalls-cli trim run.fourwalls --steps 5 --redact -o to-share.fourwalls";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                {"--steps", &m_steps, "A-B or one step, as the trace numbers them"},
                {"--range", &m_range, "A:B since the trace's origin, with ns (default), us, ms or s"},
                {"--ranks", &m_ranks, "ranks to keep: 0,2-3 (default: all)"},
                {"--redact", &m_redact, "leave out host names, file paths and names of data files"},
                Argument("-o,--output", &m_output, "the trace to write").required()};
    }

    int run(Console& console) override
    {
        const auto options = readOptions();
        if (!options) return console.wrongUsage(options.error());
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto range = trimRange(**trace, *options);
        if (!range) return console.fail(range.error());
        auto output = PendingOutput::create(m_output, OutputKind::Trace, {m_file});
        if (!output) return console.fail(output.error());
        const Status written = write(**trace, *options, output->temporaryPath());
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        if (console.json())
            return console.answerJson(nlohmann::json{
                {"file", m_output}, {"begin_ns", range->begin.ns}, {"end_ns", range->end.ns}, {"redacted", m_redact}});
        return console.answerText(m_output + ": " + formatTime(range->length()));
    }

private:
    Result<TrimOptions> readOptions() const
    {
        TrimOptions options;
        options.redact = m_redact;
        if (!m_steps.empty() && !m_range.empty())
            return Error{ErrorCode::InvalidArgument, "--steps and --range exclude each other", "", "one of them"};
        if (m_steps.empty() && m_range.empty() && m_ranks.empty() && !m_redact)
            return Error{ErrorCode::InvalidArgument, "nothing to trim", "", "--steps, --range, --ranks or --redact"};
        if (!m_steps.empty()) {
            FOURWALLS_TRY_ASSIGN(options.steps, readStepRange(m_steps));
        }
        if (!m_range.empty()) {
            FOURWALLS_TRY_ASSIGN(options.range, readTimeRange(m_range));
        }
        if (!m_ranks.empty()) {
            FOURWALLS_TRY_ASSIGN(options.ranks, readRanks(m_ranks));
        }
        return options;
    }

    static Status write(TraceQuery& trace, const TrimOptions& options, const std::string& path)
    {
        const StopSignals signals; // so that an interrupted trim leaves nothing behind
        Progress progress("trimming");
        FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                             store::TraceWriter::create(path, trimmedHeader(trace.info(), options)));
        return trimTrace(
            trace, options, *writer, [&progress](double fraction) { progress(fraction); }, signals.token());
    }

    std::string m_file, m_steps, m_range, m_ranks, m_output;
    bool m_redact = false;
};

} // namespace

std::unique_ptr<Verb> makeTrimVerb()
{
    return std::make_unique<TrimVerb>();
}

} // namespace fourwalls::cli
