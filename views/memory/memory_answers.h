// SPDX-License-Identifier: GPL-3.0-or-later
// What the memory view asks of its trace about one rank, and the answers that have come: the facts, the curve and the
// buffers of the range in sight, and what was alive at an instant.
#pragma once

#include "model/present/memory_questions.h"
#include "views/base/view.h"

#include <QByteArray>
#include <QSet>

#include <memory>

namespace fourwalls::views {

/// What a plot shows, and how finely.
struct MemoryInSight {
    TimeRange shown, whole;
    int columns = 1; ///< device pixels across `shown`
    double nsPerPixel = 1;
    BlockQuestion::Place place = BlockQuestion::Place::None; ///< of the buffers
};

/// GUI thread only.
class MemoryAnswers : public QObject {
    Q_OBJECT
public:
    /// view: the parent, whose trace is asked.
    explicit MemoryAnswers(View& view);

    /// Forgets all answers and withdraws the questions under way: those of another rank or trace.
    void forget();

    void askFacts(RankId rank);
    /// Asks for the curve where none that is here or on its way will do; true: a question went out. Needs facts().
    bool needWindow(const MemoryInSight& sight);
    /// Asks for the buffers where those that are here or on their way will not do. Needs facts().
    void needBuffers(const MemoryInSight& sight);
    /// Asks for the buffers, with places that none before them have.
    void placeBuffersAnew(const MemoryInSight& sight);
    void askAlive(Instant at);
    /// Selects what the rank did at an instant.
    void selectSliceAt(Instant at);

    /// Null: not known yet.
    const std::shared_ptr<const MemoryFacts>& facts() const { return m_facts; }
    const std::shared_ptr<const BlockPicture>& buffers() const { return m_buffers; }
    const std::shared_ptr<const AliveAnswer>& alive() const { return m_alive; }
    /// No question is under way.
    bool isSettled() const { return m_pending.isEmpty(); }

signals:
    void factsKnown();
    void windowKnown(const fourwalls::MemoryWindowAnswer& answer);
    void buffersKnown();
    void aliveKnown();
    void failed(const fourwalls::Error& error);

private:
    void askBuffers(const MemoryInSight& sight);
    /// The question on `channel` is under way until its answer came.
    template <class R, class Job, class Done>
    void ask(const QByteArray& channel, Job job, Done done, Urgency urgency = Urgency::Frame);

    View& m_view;
    std::shared_ptr<const MemoryFacts> m_facts;
    std::shared_ptr<const BlockPicture> m_buffers;
    std::shared_ptr<const AliveAnswer> m_alive;
    QSet<QByteArray> m_pending;
    TimeRange m_askedWindow, m_askedBuffers;
    int m_askedPixels = 0;
};

} // namespace fourwalls::views
