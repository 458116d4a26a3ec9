// SPDX-License-Identifier: Apache-2.0
// `facts`: figures of an imported file that are defined on its raw events.
#include "app/cli/open_input.h"
#include "app/cli/verbs.h"
#include "model/import/common/decimal_time.h"
#include "model/import/import_registry.h"
#include "model/store/trace_file.h"

namespace fourwalls::cli {

namespace {

using nlohmann::json;

class FactsVerb : public Verb {
public:
    const char* name() const override { return "facts"; }
    const char* summary() const override { return "counts and times of a profile, or of the trace made from it"; }
    const char* examples() const override
    {
        return "  fourwalls-cli facts rank0.pt.trace.json.gz --json\n"
               "  fourwalls-cli facts imported.fourwalls";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a file that can be imported, or a trace made from one").required()};
    }

    int run(Console& console) override
    {
        const auto facts = read();
        if (!facts) return console.fail(facts.error());
        return console.json() ? console.answerJson(asJson(*facts)) : console.answerText(asText(*facts));
    }

private:
    Result<importers::TraceFacts> read() const
    {
        if (!store::looksLikeTrace(m_file)) {
            Progress progress("reading");
            importers::ImportOptions options;
            options.progress = [&progress](double fraction) { progress(fraction); };
            return importers::factsOfFile(m_file, options);
        }
        FOURWALLS_TRY_ASSIGN(const auto trace, openInput(m_file));
        const auto facts = importers::factsFromAudit(trace->info().audit);
        if (facts) return *facts;
        return Error{ErrorCode::Unsupported, "this trace was not imported from one file", m_file,
                     "facts are those of a foreign file; see info and metrics"};
    }

    static json valueOf(const importers::FactColumn& column, const importers::TraceFacts& facts)
    {
        const auto& value = facts.*column.value;
        if (!value) return nullptr;
        if (column.kind == importers::FactKind::Microseconds) return importers::microsecondsText(*value);
        return *value;
    }

    static json asJson(const importers::TraceFacts& facts)
    {
        json object = json::object();
        for (const importers::FactColumn& column : importers::factColumns())
            object[std::string(column.name)] = valueOf(column, facts);
        object["event_phases"] = facts.eventPhases.empty() ? json(nullptr) : json(facts.eventPhases);
        object["mem_actions"] = facts.memActions.empty() ? json(nullptr) : json(facts.memActions);
        return object;
    }

    static std::string asText(const importers::TraceFacts& facts)
    {
        std::string text;
        for (const importers::FactColumn& column : importers::factColumns()) {
            const json value = valueOf(column, facts);
            if (value.is_null()) continue;
            std::string line(column.name);
            line.resize(30, ' ');
            text += line + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
        }
        if (!text.empty()) text.pop_back();
        return text;
    }

    std::string m_file;
};

} // namespace

std::unique_ptr<Verb> makeFactsVerb()
{
    return std::make_unique<FactsVerb>();
}

} // namespace fourwalls::cli
