// SPDX-License-Identifier: Apache-2.0
// The GPU's operators on rows that are looked up: embeddings, embedding bags, experts, features. Numbers of rows are
// where the host can read them; gradients of tables are added up in an order that it has sorted.
#include "profiler/engine/gpu/gpu_device.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/activation_type.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fourwalls::engine {

namespace {

// Rows that one thread adds up; more for the same row of a table are several threads' work.
constexpr std::int32_t kPieceEntries = 64;

// Rows of any type as words: f(word) for the widest that a row and both addresses are a multiple of.
template <class F>
void dispatchWords(std::int64_t rowBytes, const Tensor& from, const Tensor& to, F f)
{
    const auto multiples = static_cast<std::uintptr_t>(rowBytes) | reinterpret_cast<std::uintptr_t>(from.data()) |
                           reinterpret_cast<std::uintptr_t>(to.data());
    if (multiples % 16 == 0)
        f(gpu::SixteenBytes{});
    else if (multiples % 8 == 0)
        f(std::uint64_t{});
    else if (multiples % 4 == 0)
        f(std::uint32_t{});
    else
        f(std::uint16_t{});
}

} // namespace

void GpuDevice::doEmbeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions,
                                   const Tensor& out, std::int64_t firstToken)
{
    dispatchActivation(out, [&]<class T>(T) {
        m_stream.elements(gpu::Embedding<T>{tokens.as<std::int32_t>(), table.as<T>(),
                                            positions.defined() ? positions.as<float>() : nullptr, out.as<T>(),
                                            firstToken, table.rows(), out.columns(), tokens.columns()},
                          out.elements());
    });
}

// entries: (row of the table, row of dOut), sorted here. Columns [column, column + width of the table) of dOut.
void GpuDevice::addTableRows(std::vector<std::pair<std::int32_t, std::int32_t>> entries, const Tensor& dOut,
                             std::int64_t column, const Tensor& dTable)
{
    if (entries.empty()) return;
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::int32_t> pieces, rows, firstPiece;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool newRow = rows.empty() || entries[i].first != rows.back();
        if (newRow) {
            rows.push_back(entries[i].first);
            firstPiece.push_back(static_cast<std::int32_t>(pieces.size()));
        }
        if (newRow || static_cast<std::int32_t>(i) - pieces.back() == kPieceEntries)
            pieces.push_back(static_cast<std::int32_t>(i));
    }
    const auto pieceCount = static_cast<std::int64_t>(pieces.size());
    pieces.push_back(static_cast<std::int32_t>(entries.size()));
    firstPiece.push_back(static_cast<std::int32_t>(pieceCount));
    // One buffer for all lists: order, pieces, rows, first pieces.
    const std::size_t length = entries.size() + pieces.size() + rows.size() + firstPiece.size();
    const Tensor lists =
        Tensor::make(allocator(), {static_cast<std::int64_t>(length)}, DType::I32, MemoryCategory::Temporaries);
    std::int32_t* const order = lists.as<std::int32_t>();
    std::int32_t* at = std::transform(entries.begin(), entries.end(), order, [](const auto& e) { return e.second; });
    const std::int32_t* const pieceList = at;
    at = std::copy(pieces.begin(), pieces.end(), at);
    const std::int32_t* const rowList = at;
    at = std::copy(rows.begin(), rows.end(), at);
    const std::int32_t* const firstList = at;
    std::copy(firstPiece.begin(), firstPiece.end(), at);

    const std::int64_t width = dTable.columns();
    const Tensor sums = scratch({pieceCount, width}, DType::F32);
    dispatchActivation(dOut, [&]<class T>(T) {
        m_stream.elements(
            gpu::PieceSum<T>{dOut.as<T>(), dOut.columns(), column, width, order, pieceList, sums.as<float>()},
            pieceCount * width);
    });
    m_stream.elements(gpu::AddPieces{sums.as<float>(), width, rowList, firstList, dTable.as<float>()},
                      static_cast<std::int64_t>(rows.size()) * width);
}

void GpuDevice::doEmbeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable,
                                    const Tensor& dPositions, std::int64_t firstToken)
{
    std::vector<std::pair<std::int32_t, std::int32_t>> entries;
    entries.reserve(static_cast<std::size_t>(tokens.elements()));
    for (std::int64_t i = 0; i < tokens.elements(); ++i) {
        const std::int64_t row = tokens.as<std::int32_t>()[i] - firstToken;
        if (row >= 0 && row < dTable.rows())
            entries.emplace_back(static_cast<std::int32_t>(row), static_cast<std::int32_t>(i));
    }
    addTableRows(std::move(entries), dOut, 0, dTable);
    if (!dPositions.defined()) return;
    const std::int64_t sequence = tokens.columns();
    dispatchActivation(dOut, [&]<class T>(T) {
        m_stream.elements(
            gpu::PositionGradient<T>{dOut.as<T>(), dPositions.as<float>(), tokens.rows(), sequence, dOut.columns()},
            sequence * dOut.columns());
    });
}

void GpuDevice::doAddRows(const Tensor& ids, const Tensor& table, const Tensor& x)
{
    dispatchActivation(x, [&]<class T>(T) {
        m_stream.elements(gpu::AddTableRows<T>{ids.as<std::int32_t>(), table.as<float>(), x.as<T>(), x.columns()},
                          x.elements());
    });
}

double GpuDevice::choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates)
{
    const std::int64_t n = probabilities.rows();
    const Tensor margins = scratch({std::max<std::int64_t>(n, 1)}, DType::F32);
    const Tensor least = Tensor::make(allocator(), {1}, DType::F64, MemoryCategory::Temporaries);
    m_stream.elements(gpu::Choose{probabilities.as<float>(), choices.as<std::int32_t>(), gates.as<float>(),
                                  margins.as<float>(), probabilities.columns(), choices.columns(), forced},
                      n);
    m_stream.rows(gpu::Least{margins.as<float>(), n, least.as<double>()}, 1, n);
    m_stream.settle(); // the host sorts by the choices
    return least.as<double>()[0];
}

void GpuDevice::gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y)
{
    const std::int64_t bytes = y.columns() * bytesOf(y.type());
    dispatchWords(bytes, x, y, [&]<class W>(W) {
        const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(W));
        m_stream.elements(gpu::GatherRows<W>{static_cast<const W*>(x.data()), rows.as<std::int32_t>(),
                                             static_cast<W*>(y.data()), words},
                          y.rows() * words);
    });
}

void GpuDevice::scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to)
{
    const std::int64_t bytes = from.columns() * bytesOf(from.type());
    dispatchWords(bytes, from, to, [&]<class W>(W) {
        const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(W));
        m_stream.elements(gpu::ScatterRows<W>{static_cast<const W*>(from.data()), rows.as<std::int32_t>(),
                                              static_cast<W*>(to.data()), words},
                          from.rows() * words);
    });
}

void GpuDevice::combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                            const Tensor& y)
{
    dispatchActivation(y, [&]<class T>(T) {
        m_stream.elements(gpu::CombineRows<T>{x.as<T>(), spots.as<std::int32_t>(),
                                              gates.defined() ? gates.as<float>() : nullptr,
                                              residual.defined() ? residual.as<T>() : nullptr, y.as<T>(),
                                              spots.columns(), y.columns()},
                          spots.rows() * y.columns());
    });
}

void GpuDevice::combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy,
                                const Tensor& dx, const Tensor& dGates)
{
    dispatchActivation(dy, [&]<class T>(T) {
        m_stream.rows(gpu::CombineGradientRow<T>{x.as<T>(), spots.as<std::int32_t>(), gates.as<float>(), dy.as<T>(),
                                                 dx.as<T>(), dGates.as<float>(), spots.columns(), dy.columns()},
                      spots.elements(), dy.columns());
    });
}

void GpuDevice::routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates,
                               const Tensor& dGates, const Tensor& expertTerm)
{
    m_stream.elements(gpu::RouterGradient{probabilities.as<float>(), choices.as<std::int32_t>(), gates.as<float>(),
                                          dGates.as<float>(), expertTerm.as<float>(), probabilities.columns(),
                                          choices.columns()},
                      probabilities.rows());
}

void GpuDevice::sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                        const Tensor& out, std::int64_t outColumn)
{
    dispatchActivation(out, [&]<class T>(T) {
        m_stream.elements(gpu::BagSum<T>{table.as<float>(), rows.as<std::int32_t>(), rows.columns(), rowColumn, lookups,
                                         out.as<T>(), out.columns(), outColumn, table.columns()},
                          rows.rows() * table.columns());
    });
}

void GpuDevice::sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups, const Tensor& dOut,
                                std::int64_t outColumn, const Tensor& dTable)
{
    std::vector<std::pair<std::int32_t, std::int32_t>> entries;
    entries.reserve(static_cast<std::size_t>(rows.rows() * lookups));
    for (std::int64_t i = 0; i < rows.rows(); ++i)
        for (std::int64_t l = 0; l < lookups; ++l)
            entries.emplace_back(rows.as<std::int32_t>()[i * rows.columns() + rowColumn + l],
                                 static_cast<std::int32_t>(i));
    addTableRows(std::move(entries), dOut, outColumn, dTable);
}

void GpuDevice::interact(const Tensor& features, std::int64_t width, const Tensor& out)
{
    dispatchActivation(out, [&]<class T>(T) {
        m_stream.elements(gpu::Interact<T>{features.as<T>(), out.as<T>(), width, features.columns() / width},
                          out.elements());
    });
}

void GpuDevice::interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut,
                                 const Tensor& dFeatures)
{
    dispatchActivation(dOut, [&]<class T>(T) {
        m_stream.elements(gpu::InteractGradient<T>{features.as<T>(), dOut.as<T>(), dFeatures.as<T>(), width,
                                                   features.columns() / width},
                          dFeatures.elements());
    });
}

void GpuDevice::relu(const Tensor& y)
{
    dispatchActivation(y, [&]<class T>(T) { m_stream.elements(gpu::AddRelu<T>{y.as<T>(), nullptr}, y.elements()); });
}

void GpuDevice::reluGradient(const Tensor& y, const Tensor& dy)
{
    dispatchActivation(y, [&]<class T>(T) {
        m_stream.elements(gpu::AddReluGradient<T>{y.as<T>(), dy.as<T>(), nullptr}, y.elements());
    });
}

void GpuDevice::binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses,
                                   double gradientScale)
{
    m_stream.elements(gpu::BinaryCrossEntropy{logits.as<float>(), labels.as<std::int32_t>(), losses.as<float>(),
                                              static_cast<float>(gradientScale)},
                      logits.elements());
}

} // namespace fourwalls::engine
