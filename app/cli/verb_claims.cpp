// SPDX-License-Identifier: Apache-2.0
// `claims`: what others have claimed about training large models, recomputed.
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/claims/claims.h"

#include <fmt/format.h>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

class ClaimsVerb : public Verb {
public:
    const char* name() const override { return "claims"; }
    const char* summary() const override
    {
        return "published claims about large-model training, recomputed, with a verdict";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli claims\n"
               "  fourwalls-cli claims --json | jq '.claims[] | select(.verdict == \"differs\")'";
    }
    Arguments arguments() override { return {{"--id", &m_id, "only this one, with its working"}}; }

    int run(Console& console) override
    {
        const auto all = claims::allClaims();
        if (!all) return console.fail(all.error());
        std::vector<claims::Claim> chosen;
        for (const claims::Claim& claim : *all)
            if (m_id.empty() || claim.id == m_id) chosen.push_back(claim);
        if (chosen.empty())
            return console.wrongUsage(
                {ErrorCode::NotFound, "no such claim", "--id '" + m_id + "'", "claims lists them"});
        return console.json() ? console.answerJson(jsonOf(chosen)) : console.answerText(textOf(chosen));
    }

private:
    static json jsonOf(const std::vector<claims::Claim>& list)
    {
        json object{{"claims", json::array()}};
        for (const claims::Claim& claim : list)
            object["claims"].push_back({{"id", claim.id},
                                        {"wall", claims::name(claim.wall)},
                                        {"statement", claim.statement},
                                        {"claimed", claim.claimed},
                                        {"computed", claim.computed ? json(*claim.computed) : json(nullptr)},
                                        {"unit", claim.unit},
                                        {"verdict", claims::name(claim.verdict)},
                                        {"because", claim.because},
                                        {"working", claim.working}});
        return object;
    }

    static std::string textOf(const std::vector<claims::Claim>& list)
    {
        std::string text;
        for (const claims::Claim& claim : list) {
            const std::string computed = claim.computed ? formatFigure(*claim.computed, 4) : "\xe2\x80\x93";
            text += fmt::format("{} ({}): {}\n  {}\n  claimed {} {}, computed {} {}\n  {}\n  working: {}\n\n", claim.id,
                                claims::name(claim.wall), claims::name(claim.verdict), claim.statement,
                                formatFigure(claim.claimed, 4), claim.unit, computed, claim.unit, claim.because,
                                claim.working);
        }
        text.resize(text.size() - 2); // the console ends the last line
        return text;
    }

    std::string m_id;
};

} // namespace

std::unique_ptr<Verb> makeClaimsVerb()
{
    return std::make_unique<ClaimsVerb>();
}

} // namespace fourwalls::cli
