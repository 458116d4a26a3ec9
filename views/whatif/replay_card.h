// SPDX-License-Identifier: GPL-3.0-or-later
// The step of an open recording or import, run again from its own times with what a person changes: the first thing that
// the What-if dock offers, before any prediction. It says how far the same replay is off when nothing is changed.
#pragma once

#include "views/whatif/prediction_card.h"
#include "views/words/format.h"

#include <QPointer>
#include <QWidget>

class QCheckBox;
class QPushButton;

namespace fourwalls::views {

class ReplayControls;
class Replayer;
class WhatIf;

class ReplayCard : public QWidget {
    Q_OBJECT
public:
    explicit ReplayCard(QWidget* parent = nullptr);

    /// Whose replayer this shows and sets; null: none. The trace is asked when the card is first seen, so that nobody waits
    /// for it who does not look.
    void setWhatIf(WhatIf* whatIf);

    void setByteUnit(ByteUnit unit);

    const FigureTable& table() const { return *m_table; }
    ReplayControls& controls() { return *m_controls; }
    /// "Unchanged, this replay is 0.03 % off.", or why the step cannot be run again.
    QString sentence() const { return m_sentence->text(); }
    /// What the changed step rests on; empty while nothing is changed.
    QString restsOn() const { return m_rests->text(); }
    /// The command that says the same; empty while nothing is changed.
    QString command() const;

signals:
    /// The changed step is to become a trace: the changes as `replay --change` takes them.
    void saveRequested(const QStringList& changes);

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    Replayer* replayer() const; ///< null: none
    void showOffers();
    void showChanges();
    void refresh();
    void retranslate();
    QString qualitySentence() const;
    void showOutcome();

    QPointer<WhatIf> m_whatIf;
    ByteUnit m_unit = ByteUnit::GB;
    QLabel *m_title, *m_together;
    WrappedText *m_sentence, *m_rests;
    FigureTable* m_table;
    ReplayControls* m_controls;
    QCheckBox* m_drawn; ///< what is changed is the ghost of the views
    QPushButton *m_reset, *m_save, *m_copy;
    QWidget* m_buttons;
};

} // namespace fourwalls::views
