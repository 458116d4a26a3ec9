// SPDX-License-Identifier: GPL-3.0-or-later
// The controls of a replay: every change that the open trace can answer, each with what it alone would gain.
#pragma once

#include "model/replay/replay_offers.h"
#include "model/spec/run_spec.h"

#include <QString>
#include <QWidget>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class QComboBox;
class QLabel;
class QVBoxLayout;

namespace fourwalls::views {

class KnobRow;

class ReplayControls : public QWidget {
    Q_OBJECT
public:
    explicit ReplayControls(QWidget* parent = nullptr);

    /// Null: none. All controls then stand as recorded.
    void setOffers(std::shared_ptr<const replay::ReplayOffers> offers);
    /// Shows changes that were set elsewhere. What no control says is kept.
    void showChanges(const std::vector<std::string>& changes);
    /// The changes that the controls say, as `replay --change` takes them, in the order of the controls.
    std::vector<std::string> changes() const;
    /// Back to what was recorded.
    void reset();
    void retranslate();

    /// The row of a control by its change without a value ("link:dp", "kernels:matmul", "microbatches"); null: none.
    KnobRow* row(const QString& name) const;

signals:
    void changed();

private:
    using Changes = std::vector<std::string>;
    /// One control: what it changes, and how it shows what was changed elsewhere.
    struct Control {
        QString name;
        std::function<Changes()> changes;         ///< empty: as recorded
        std::function<void(const Changes&)> show; ///< its own of these; without: as recorded
        KnobRow* knob = nullptr;
    };

    void rebuild();
    void addHeading(const QString& text);
    void addLine(QWidget* control, const QString& gain, const QString& explanation);
    void addSwitch(const QString& text, const std::string& change, replay::OfferKind kind,
                   const std::string& what = {});
    /// prefix: of the change, before "*F". divided: the value divides the time, else it is the share of it that is left.
    void addFactor(const QString& text, const std::string& prefix, bool divided, replay::OfferKind kind,
                   const std::string& what = {});
    void addChoice(const QString& text, std::vector<std::pair<QString, std::string>> entries, const QString& gain = {},
                   const QString& toolTip = {});
    void addPeerControls();
    void addPassControls();
    void addNumber(const QString& text, const std::string& key, int recorded, int most, const QString& explanation);
    void addPlanControls();
    void addPattern();
    QString gainOf(replay::OfferKind kind, const std::string& what) const;

    std::shared_ptr<const replay::ReplayOffers> m_offers;
    std::vector<Control> m_controls;
    std::vector<std::string> m_patterns; ///< of kernels, that somebody added
    Changes m_others;                    ///< that no control says
    QWidget* m_body = nullptr;
    QVBoxLayout* m_column;
};

} // namespace fourwalls::views
