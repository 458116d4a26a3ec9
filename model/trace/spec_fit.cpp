// SPDX-License-Identifier: Apache-2.0
// What follows from the evidence. A value is stated only where nothing else fits as well, "high" only where the evidence
// leaves no choice; sizes of a transformer are not looked for where convolutions are the network.
#include "model/trace/spec_evidence.h"

#include "model/spec/names.h"

#include <algorithm>
#include <utility>

namespace fourwalls {

namespace {

std::string sizeText(std::int64_t value)
{
    return std::to_string(value);
}

/// The shape met most often; null if there is none, or if it is less than nine tenths of all.
const Shape* prevailing(const CountedShapes& counted, std::int64_t& count)
{
    const Shape* found = nullptr;
    std::int64_t all = 0;
    count = 0;
    for (const auto& [shape, times] : counted) {
        all += times;
        if (times > count) count = times, found = &shape;
    }
    return found && 10 * count >= 9 * all ? found : nullptr;
}

std::int64_t countOf(const CountedShapes& counted)
{
    std::int64_t all = 0;
    for (const auto& [shape, times] : counted) all += times;
    return all;
}

/// What a size could be instead: of the sizes that sizeOf finds in the shapes, the one met most often but for `stated`.
/// sizeOf: 0 for a shape that tells none.
template <typename SizeOf>
std::optional<RunnerUp> nextOf(const CountedShapes& counted, std::int64_t stated, int times, SizeOf sizeOf)
{
    std::map<std::int64_t, std::int64_t> counts;
    for (const auto& [shape, often] : counted)
        if (const std::int64_t size = sizeOf(shape); size > 0) counts[size] += often;
    const std::int64_t own = counts[stated];
    counts.erase(stated);
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (own <= 0 || most == counts.end() || most->second > own) return std::nullopt;
    return RunnerUp{sizeText(most->first * times), static_cast<double>(most->second) / static_cast<double>(own)};
}

/// The size at a place of a shape.
auto sizeAt(std::size_t place)
{
    return [place](const Shape& shape) { return place < shape.size() ? shape[place] : 0; };
}

/// Heads of one rank; 0: unknown.
struct OwnHeads {
    std::int64_t count = 0, width = 0;
};

/// Fills the fields, one part of the specification per function.
class SpecFit {
public:
    explicit SpecFit(const SpecEvidenceData& evidence) : m_evidence(evidence) {}

    std::vector<InferredField> fit()
    {
        const std::string& device = m_evidence.device;
        if (!device.empty()) state("device", device, Confidence::High, "the file names it");
        const auto most = std::max_element(m_evidence.flops.begin(), m_evidence.flops.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != m_evidence.flops.end())
            state("precision", std::string(name(most->first)), Confidence::High,
                  "type of the inputs of most matrix products", nextPrecision(*most));
        if (!m_evidence.optimizer.empty())
            state("optimizer", m_evidence.optimizer, Confidence::High, "the annotation of its step");
        fitPlan();
        m_tpKnown = m_planKnown || m_tp > 1 || m_evidence.degrees.contains("tp");
        if (m_evidence.ownNames) {
            fitOwnNetwork();
        } else if (isTransformer()) {
            fitNetwork();
            fitRepetition();
        }
        return std::move(m_fields);
    }

private:
    void state(const char* field, std::string value, Confidence confidence, std::string why,
               std::optional<RunnerUp> next = {})
    {
        m_fields.push_back({field, std::move(value), confidence, std::move(why), std::move(next)});
    }
    void state(const char* field, std::int64_t value, Confidence confidence, std::string why,
               std::optional<RunnerUp> next = {})
    {
        state(field, sizeText(value), confidence, std::move(why), std::move(next));
    }

    /// By FLOPs.
    std::optional<RunnerUp> nextPrecision(const std::pair<const Precision, double>& stated) const
    {
        const std::pair<const Precision, double>* next = nullptr;
        for (const auto& each : m_evidence.flops)
            if (each.first != stated.first && each.second > 0 && (!next || each.second > next->second)) next = &each;
        if (!next || stated.second <= 0) return std::nullopt;
        return RunnerUp{std::string(name(next->first)), next->second / stated.second};
    }

    std::int64_t attentionCount() const
    {
        const std::int64_t fused = countOf(m_evidence.attentions());
        return fused > 0 ? fused : countOf(m_evidence.softmax);
    }
    /// Attention, and more of it than convolutions: a network of images with a text encoder beside it is none.
    bool isTransformer() const { return attentionCount() > m_evidence.convolutions; }
    /// Whether the forward pass multiplies rows of one width into rows of another.
    bool hasProduct(std::int64_t from, std::int64_t to) const
    {
        return std::any_of(m_evidence.forwardProducts.begin(), m_evidence.forwardProducts.end(),
                           [&](const auto& each) { return each.first[1] == from && each.first[2] == to; });
    }

    void fitPlan();
    void fitOwnNetwork();
    OwnHeads ownHeads(std::int64_t hidden, std::int64_t size, std::int64_t queries) const;
    void fitOwnWidths(std::int64_t hidden, OwnHeads heads);
    void fitNetwork();
    void fitRepetition();

    const SpecEvidenceData& m_evidence;
    std::vector<InferredField> m_fields;
    std::int64_t m_hidden = 0, m_microbatches = 0;
    int m_tp = 1, m_pp = 1, m_cp = 1, m_dp = 1;
    bool m_planKnown = false; ///< the degrees account for every rank of the job
    bool m_tpKnown = false;   ///< else a width of one rank may be the whole or a part of it: both fit
};

void SpecFit::fitPlan()
{
    const int world = m_evidence.worldSize.value_or(m_evidence.ranks);
    if (m_evidence.worldSize || m_evidence.ranks > 1)
        state("world_size", world, m_evidence.worldSize ? Confidence::High : Confidence::Medium,
              m_evidence.worldSize ? "the file says so" : "ranks imported together");
    std::map<std::string, int> degrees = m_evidence.degrees;
    if (!degrees.contains("pp") && m_evidence.stages > 1) degrees["pp"] = m_evidence.stages;
    std::int64_t product = 1;
    for (const auto& [key, degree] : degrees) {
        state(key.c_str(), degree, Confidence::High, "a process group of that purpose and size");
        if (key != "ep") product *= degree;
        if (key == "tp") m_tp = degree;
        if (key == "pp") m_pp = degree;
        if (key == "cp") m_cp = degree;
        if (key == "dp") m_dp = degree;
    }
    // The engine names every group that has more than one rank: what is not named is 1.
    if (m_evidence.ownNames && product == world && world == m_evidence.ranks) {
        for (const char* key : {"tp", "pp", "dp", "cp", "ep"})
            if (!degrees.contains(key)) state(key, 1, Confidence::High, "the other degrees account for all ranks");
        m_planKnown = true;
        return;
    }
    if (degrees.empty() && m_evidence.forwardReductions >= 2 && m_evidence.forwardGroup > 1) {
        m_tp = m_evidence.forwardGroup;
        product = m_tp;
        state("tp", m_tp, Confidence::Medium,
              sizeText(m_evidence.forwardReductions) + " all-reduces in the forward pass, in groups of that size");
    }
    m_planKnown = product == world;
    if (degrees.contains("dp") || world % product != 0 || world == product) return;
    m_dp = static_cast<int>(world / product);
    if (m_evidence.distributed || m_evidence.sharded) {
        state("dp", m_dp, product == 1 ? Confidence::High : Confidence::Medium,
              m_evidence.sharded ? "FullyShardedDataParallel is used" : "DistributedDataParallel is used");
        m_planKnown = true;
    } else {
        m_dp = 1; // whatever else these ranks share, nothing says that they are replicas
    }
    if (m_evidence.sharded) state("zero", 3, Confidence::Medium, "FullyShardedDataParallel is used");
}

/// A recording of the embedded engine: each product of a layer has one shape, and all groups and layers have names.
void SpecFit::fitOwnNetwork()
{
    const bool allRanks = m_planKnown;
    const std::int64_t layers = static_cast<std::int64_t>(m_evidence.layers.size());
    const bool contiguous = layers > 0 && *m_evidence.layers.begin() == 0 && *m_evidence.layers.rbegin() == layers - 1;
    const std::int64_t attention =
        countOf(m_evidence.attentions()) + countOf(m_evidence.softmax) + countOf(m_evidence.attentionBlocks);
    if (attention == 0 || m_evidence.convolutions > 0) return;
    if (contiguous && allRanks)
        state("layers", layers, Confidence::High, "operators name their layers, and all stages are in the trace");
    std::int64_t times = 0;
    const Shape* norm = prevailing(m_evidence.norms, times);
    const std::int64_t hidden = norm && norm->size() == 1 ? (*norm)[0] : 0;
    if (hidden == 0) return;
    const auto& products = m_evidence.forwardProducts;
    const bool multiplied =
        std::any_of(products.begin(), products.end(), [hidden](const auto& each) { return each.first[1] == hidden; });
    state("hidden", hidden, multiplied ? Confidence::High : Confidence::Medium,
          multiplied ? "width of the norms and of the products" : "width of the norms",
          nextOf(m_evidence.norms, hidden, 1, sizeAt(0)));

    // Micro-batches, their size and the sequence, from what a step of the job took.
    const std::int64_t firstRanks = std::max(1, m_evidence.ranks / m_pp),
                       runs = std::max<std::int64_t>(1, m_evidence.steps) * firstRanks;
    if (allRanks && m_evidence.ownEmbeddings > 0 && m_evidence.ownEmbeddings % runs == 0) {
        m_microbatches = m_evidence.ownEmbeddings / runs;
        state("microbatches", m_microbatches, Confidence::High, "look-ups of words per step and first stage");
    }
    std::int64_t size = 0, sequence = 0;
    if (m_evidence.stepSamples && m_microbatches > 0 && *m_evidence.stepSamples % (m_dp * m_microbatches) == 0) {
        size = *m_evidence.stepSamples / (m_dp * m_microbatches);
        state("microbatch_size", size, Confidence::High, "samples of a step by replicas and micro-batches");
    }
    if (m_evidence.stepSamples && m_evidence.stepTokens && *m_evidence.stepTokens % *m_evidence.stepSamples == 0) {
        sequence = *m_evidence.stepTokens / *m_evidence.stepSamples;
        state("sequence", sequence, Confidence::High, "tokens by samples of a step");
    }
    fitOwnWidths(hidden, ownHeads(hidden, size, sequence / m_cp));
}

/// The heads of one rank and their width, of the attention as it was computed: fused, around a ring, or as a softmax
/// between batched products. size: samples of a micro-batch; queries: of one sample on one rank; 0: unknown.
OwnHeads SpecFit::ownHeads(std::int64_t hidden, std::int64_t size, std::int64_t queries) const
{
    std::int64_t times = 0;
    if (const Shape* fused = prevailing(m_evidence.attentions(), times); fused && fused->size() >= 4)
        return {(*fused)[1], (*fused)[3]};
    std::set<std::pair<std::int64_t, std::int64_t>> found;
    if (size == 0) return {};
    for (const auto& [block, count] : m_evidence.attentionBlocks)
        if (block.size() == 4 && block[0] % size == 0) found.insert({block[0] / size, block[3]});
    const bool isProduct = found.empty() && queries > 0;
    for (const auto& [scores, count] : m_evidence.softmax) {
        if (!isProduct || scores.size() != 2 || scores[0] % (size * queries) != 0) continue;
        const std::int64_t heads = scores[0] / (size * queries);
        // The engine writes [m, k, n, batch]: scores are [queries, width, keys, …], what they weigh is [queries, keys, width, …].
        for (const auto& [shape, often] : m_evidence.batchedProducts)
            if (shape.size() == 4 && shape[2] == scores[1] &&
                m_evidence.batchedProducts.contains({shape[0], shape[2], shape[1], shape[3]}) &&
                hasProduct(heads * shape[1], hidden))
                found.insert({heads, shape[1]});
    }
    return found.size() == 1 ? OwnHeads{found.begin()->first, found.begin()->second} : OwnHeads{};
}

/// What the widths of a layer's products say: heads, classes, keys and the inner width.
void SpecFit::fitOwnWidths(std::int64_t hidden, OwnHeads heads)
{
    const std::string timesTp = m_tp > 1 ? ", times tp" : "";
    const auto& products = m_evidence.forwardProducts;
    const std::int64_t queries = heads.count * heads.width;
    if (heads.count > 0) state("heads", heads.count * m_tp, Confidence::High, "shape of the attention" + timesTp);
    std::set<std::int64_t> outOf;                                ///< widths that products make of the hidden width
    std::set<std::pair<std::int64_t, std::int64_t>> projections; ///< of the attention's result: rows and how often
    for (const auto& [shape, count] : products) {
        if (shape[1] == hidden) outOf.insert(shape[2]);
        if (shape[1] == queries && shape[2] == hidden) projections.insert({shape[0], count});
    }
    std::int64_t times = 0, vocabulary = 0;
    if (const Shape* loss = prevailing(m_evidence.losses, times);
        loss && loss->size() == 2 && outOf.contains((*loss)[1])) {
        vocabulary = (*loss)[1];
        state("vocabulary", vocabulary * m_tp, Confidence::High,
              "classes of the loss, and the product before it" + timesTp,
              nextOf(m_evidence.losses, vocabulary, m_tp, sizeAt(1)));
    }
    // The widest use of an activation; the head of BERT has one of its own, once where layers have many.
    std::int64_t inner = 0;
    times = 0;
    for (const auto& [shape, count] : m_evidence.activations) {
        if (count == times) inner = 0; // two fit equally
        if (count > times) times = count, inner = shape[0];
    }
    if (inner > 0 && hasProduct(inner, hidden))
        state(m_evidence.hasExperts ? "expert_hidden" : "ffn_hidden", inner * m_tp, Confidence::High,
              "width of the activation, and the product behind it" + timesTp,
              nextOf(m_evidence.activations, inner, m_tp, sizeAt(0)));
    if (queries == 0) return;
    std::set<std::int64_t> keys;
    for (const std::int64_t made : outOf) {
        if (made <= queries || (made - queries) % (2 * heads.width) != 0 || made == vocabulary) continue;
        // A feed-forward width may look like keys and values: then nothing is said of it.
        if (made == inner || made == 2 * inner) continue;
        const std::int64_t local = (made - queries) / (2 * heads.width);
        const bool asProjection = std::any_of(products.begin(), products.end(), [&](const auto& each) {
            return each.first[1] == hidden && each.first[2] == made &&
                   projections.contains({each.first[0], each.second});
        });
        if (local <= heads.count && heads.count % local == 0 && asProjection) keys.insert(local);
    }
    if (keys.size() == 1)
        state("kv_heads", *keys.begin() * m_tp, Confidence::High,
              "width of queries, keys and values together" + timesTp);
}

void SpecFit::fitNetwork()
{
    std::int64_t times = 0;
    // Norms of queries and keys have other widths than those of the layers.
    const auto norm = std::max_element(m_evidence.norms.begin(), m_evidence.norms.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::int64_t ofNorm = norm != m_evidence.norms.end() && norm->first.size() == 1 ? norm->first[0] : 0;
    // A fused operator says more than a softmax over a square.
    const Shape* const fused = prevailing(m_evidence.attentions(), times);
    const bool isFused = fused && fused->size() >= 4;
    const Shape* const soft = prevailing(m_evidence.softmax, times);
    const Shape* const shaped = isFused ? fused : soft && soft->size() == 4 ? soft : nullptr;
    const std::int64_t sequence = shaped && (*shaped)[2] > 1 ? (*shaped)[2] : 0;
    const std::int64_t ofHeads = isFused ? (*fused)[1] * (*fused)[3] * m_tp : 0;

    // Of the tables, the words' is the one whose rows a loss or the last product chooses from. Positions have a row per
    // place of the sequence, and are looked up once for all samples.
    const auto isChosenFrom = [&](std::int64_t rows) {
        const auto ofLoss = [rows](const auto& each) { return each.first.size() == 2 && each.first[1] == rows; };
        return std::any_of(m_evidence.losses.begin(), m_evidence.losses.end(), ofLoss);
    };
    const auto isMultiplied = [&](std::int64_t width, std::int64_t rows) {
        return std::any_of(m_evidence.products.begin(), m_evidence.products.end(),
                           [&](const auto& each) { return each.first[1] == width && each.first[2] == rows; });
    };
    const CountedShapes::value_type* words = nullptr;
    bool sure = false;
    int most = 0, second = 0; ///< signs of the tables
    std::optional<RunnerUp> nextTable;
    for (const auto& table : m_evidence.embeddings) {
        const Shape& shape = table.first;
        if (shape.size() < 3) continue;
        const bool chosen = isChosenFrom(shape[0]) || isMultiplied(shape[1], shape[0]);
        const bool batched = shape.size() == 4 && shape[2] > 1;
        const bool large = shape[0] > 4 * std::max(sequence, shape.back());
        if (!chosen && !(large && (batched || shape.size() == 3 || m_evidence.embeddings.size() == 1))) continue;
        const int signs = 2 * chosen + batched + large;
        if (words && (sure > chosen || (sure == chosen && words->first[0] >= shape[0]))) {
            if (signs > second) second = signs, nextTable = RunnerUp{sizeText(shape[0]), 0};
            continue;
        }
        if (words && most > second) second = most, nextTable = RunnerUp{sizeText(words->first[0]), 0};
        words = &table;
        sure = chosen;
        most = signs;
    }
    if (nextTable && (second >= most || nextTable->value == sizeText(words->first[0]))) nextTable.reset();
    if (nextTable) nextTable->odds = static_cast<double>(second) / most;
    const std::int64_t ofTable = words ? words->first[1] : 0;
    std::map<std::int64_t, int> signs;
    for (const std::int64_t width : {ofNorm, ofTable})
        if (width > 0) ++signs[width];
    // Heads need not be as wide together as the network.
    if (ofHeads > 0 && (signs.empty() || signs.contains(ofHeads))) ++signs[ofHeads];
    const auto best =
        std::max_element(signs.begin(), signs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best != signs.end() && (signs.size() == 1 || best->second > 1)) {
        m_hidden = best->first;
        const bool both = best->second > 1;
        std::string why = both ? "width of" : "";
        const auto add = [&](bool holds, const char* what) {
            if (holds)
                why += (why.empty() || why == "width of" ? (why.empty() ? "" : " ") : " and ") + std::string(what);
        };
        add(m_hidden == ofTable, both ? "the embedding" : "width of the embedding");
        add(m_hidden == ofNorm, both ? "the norms" : "width of most norms");
        add(m_hidden == ofHeads, both ? "all heads" : "heads times their width");
        // What else is as wide as a network's rows: other norms, or other tables where norms tell nothing.
        auto next = m_hidden == ofNorm ? nextOf(m_evidence.norms, m_hidden, 1, sizeAt(0))
                                       : nextOf(m_evidence.embeddings, m_hidden, 1, sizeAt(1));
        state("hidden", m_hidden, both ? Confidence::High : Confidence::Medium, why, std::move(next));
    } else if (signs.contains(ofTable) && ofTable > 0 && ofTable == ofNorm) {
        m_hidden = ofTable;
    }
    // Rows of a table that is cut over ranks, or not: both fit.
    if (words && m_tp == 1 && m_tpKnown)
        state("vocabulary", words->first[0], sure ? Confidence::High : Confidence::Medium,
              sure ? "rows of the embedding, and what the loss chooses from" : "rows of the embedding", nextTable);
    bool sequenceKnown = false;
    if (words && words->first.size() == 4) {
        const std::int64_t size = words->first[2], length = words->first[3];
        const bool agree = shaped && (*shaped)[0] == size && sequence == length;
        if (agree || (!shaped && length > 1)) {
            const CountedShapes& all = isFused ? m_evidence.attentions() : m_evidence.softmax;
            state("microbatch_size", size, agree ? Confidence::High : Confidence::Medium,
                  agree ? "shape of the embedding's indices and of the attention" : "shape of the embedding's indices",
                  nextOf(all, size, 1, sizeAt(0)));
            state("sequence", length * m_cp, agree && m_cp == 1 ? Confidence::High : Confidence::Medium,
                  agree ? "shape of the embedding's indices and of the attention" : "shape of the embedding's indices",
                  nextOf(all, length, m_cp, sizeAt(2)));
            sequenceKnown = true;
        }
    }
    if (shaped) {
        const CountedShapes& all = isFused ? m_evidence.attentions() : m_evidence.softmax;
        if (m_tpKnown)
            state("heads", (*shaped)[1] * m_tp, Confidence::High,
                  std::string("shape of the attention") + (m_tp > 1 ? ", times tp" : ""),
                  nextOf(all, (*shaped)[1], m_tp, sizeAt(1)));
        if (!sequenceKnown && sequence > 0 && m_cp == 1)
            state("sequence", sequence, Confidence::Medium, "shape of the attention",
                  nextOf(all, sequence, 1, sizeAt(2)));
        if (m_tpKnown && isFused && fused->size() == 5 && (*fused)[4] > 0 && (*fused)[1] % (*fused)[4] == 0)
            state("kv_heads", (*fused)[4] * m_tp, Confidence::Medium, "shape of the attention's keys",
                  nextOf(all, (*fused)[4], m_tp, sizeAt(4)));
    }
    // The inner width: products between it and the hidden one that are no others.
    if (m_hidden > 0 && shaped) {
        const std::int64_t heads = (*shaped)[1], keys = isFused && fused->size() == 5 ? (*fused)[4] : heads;
        const std::int64_t width = isFused ? (*fused)[3] : m_hidden / std::max<std::int64_t>(1, heads * m_tp);
        std::set<std::int64_t> known{m_hidden, heads * width, keys * width, (heads + 2 * keys) * width};
        if (words) known.insert(words->first[0]);
        std::set<std::int64_t> inner;
        for (const auto& [shape, count] : m_evidence.products)
            if (shape[2] == m_hidden && !known.contains(shape[1]) &&
                (isMultiplied(m_hidden, shape[1]) || isMultiplied(m_hidden, 2 * shape[1])))
                inner.insert(shape[1]);
        // Gated, with both halves in one product: the way back of that one is twice as wide.
        std::erase_if(inner, [&](std::int64_t each) { return each % 2 == 0 && inner.contains(each / 2); });
        if (inner.size() == 1 && m_tpKnown)
            state("ffn_hidden", *inner.begin() * m_tp, Confidence::Medium, "products between it and the hidden width");
    }
    // Without shapes, words and positions cannot be told apart; losses are one per micro-batch.
    const std::int64_t steps = m_evidence.steps * (m_evidence.manyRanks ? m_evidence.ranks : 1);
    if (steps > 0 && words && words->second % steps == 0) m_microbatches = words->second / steps;
    if (steps > 0 && m_evidence.lossCount > 0 && m_evidence.lossCount % steps == 0) {
        const bool agree = m_microbatches == m_evidence.lossCount / steps;
        // Two signs that contradict each other fit equally: networks with two losses have one micro-batch.
        const bool open = !agree && m_microbatches > 0;
        m_microbatches = open ? 0 : m_evidence.lossCount / steps;
        if (!open)
            state("microbatches", m_microbatches, agree ? Confidence::High : Confidence::Medium,
                  agree ? "embeddings and losses per step" : "losses per step");
    } else if (m_microbatches > 0) {
        state("microbatches", m_microbatches, Confidence::Medium, "embeddings per step");
    }
}

void SpecFit::fitRepetition()
{
    // Modules are numbered by class; a block holds the others, so its class has "Block" or ends in "Layer".
    const std::int64_t attention = attentionCount();
    const std::int64_t steps = std::max<std::int64_t>(1, m_evidence.runs());
    const std::int64_t runs = steps * std::max<std::int64_t>(1, m_microbatches);
    const std::int64_t repeated = attention % runs == 0 ? attention / runs : 0;
    std::int64_t blocks = 0;
    std::string blockName;
    for (const auto& [module, instances] : m_evidence.modules) {
        const bool block =
            module.find("Block") != std::string::npos || (module.size() > 5 && module.ends_with("Layer"));
        const auto count = static_cast<std::int64_t>(instances.size());
        // Blocks without attention of their own are not the layers of a transformer.
        if (block && attention % count == 0 && (repeated == 0 || count == repeated) && count > blocks)
            blocks = count, blockName = module;
    }
    if (repeated == 0 && blocks == 0) return;
    std::int64_t times = 0;
    const Shape* const norm = prevailing(m_evidence.norms, times);
    const bool normsAgree = norm && repeated > 0 && (times == 2 * attention || times == 2 * attention + runs);
    std::string why = blocks > 0 ? sizeText(blocks) + " modules " + blockName
                                 : sizeText(repeated) + " times attention per micro-batch";
    if (blocks > 0 && blocks == repeated) why += ", as often attention";
    if (normsAgree) why += ", two norms each";
    // Layers times micro-batches is all that repetition alone says.
    if (blocks == 0 && m_microbatches == 0) {
        if (m_evidence.hasBackward || m_evidence.steps == 0) return;
        why = sizeText(repeated) + " times attention per pass";
    }
    Confidence confidence = blocks > 0 && blocks == repeated   ? Confidence::High
                            : normsAgree && m_microbatches > 0 ? Confidence::High
                                                               : Confidence::Medium;
    const std::int64_t own = blocks > 0 ? blocks : repeated;
    if (m_pp > 1) {
        why += ", times pp";
        confidence = std::min(confidence, Confidence::Medium);
    }
    state("layers", own * m_pp, confidence, why);
}

} // namespace

std::vector<InferredField> fitSpec(const SpecEvidenceData& evidence)
{
    return SpecFit(evidence).fit();
}

} // namespace fourwalls
