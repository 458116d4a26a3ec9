// SPDX-License-Identifier: GPL-3.0-or-later
// A line below a table or beside a finding: what what is selected there would gain, with the error of the replay that says so.
#pragma once

#include "views/plot/plot_card.h"
#include "views/whatif/gain_words.h"

#include <QPointer>

#include <vector>

namespace fourwalls::views {

class GainLine : public ElidedText {
    Q_OBJECT
public:
    explicit GainLine(QWidget* parent = nullptr);

    /// Null: nothing can be asked. Outlives the line, or is replaced first.
    void setReplayer(Replayer* replayer);
    /// What is selected; empty: nothing, and there is no line. Asked as soon as the line is seen.
    void ask(std::vector<AskedGain> asked);
    void ask(const std::vector<replay::GainSubject>& subjects);
    /// In the present language.
    void retranslate();
    /// Whether it is seen, and an answer is outstanding.
    bool isPending() const;

signals:
    /// It says something else.
    void changed();

protected:
    void showEvent(QShowEvent* event) override;

private:
    void refresh();
    QString answer();

    QPointer<Replayer> m_replayer;
    std::vector<AskedGain> m_asked;
    bool m_isPending = false;
};

} // namespace fourwalls::views
