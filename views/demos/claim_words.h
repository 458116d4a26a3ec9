// SPDX-License-Identifier: GPL-3.0-or-later
// The published claims in another language than that of the sources: texts by the claim's id, with the figures that the
// cost model computes now.
#pragma once

#include "model/claims/claims.h"

#include <QByteArray>
#include <QHash>
#include <QString>

namespace fourwalls::views {

/// Texts of one language.
class ClaimWords {
public:
    /// The file's text (resources/demos/claims_LANGUAGE.json). Entries that cannot be read are left out; a file that
    /// cannot be read has none.
    static ClaimWords read(const QByteArray& json);

    /// English where there is no text, or where the English one is another one than what was translated.
    QString statement(const claims::Claim& claim) const;
    QString because(const claims::Claim& claim) const;
    QString working(const claims::Claim& claim) const;

private:
    /// A text with figures: the English of then, and what it is in the other language.
    struct Sentence {
        QString of, is;
    };
    struct Entry {
        QString statement;
        Sentence because, working;
    };
    static QString translated(const std::string& now, const Sentence& sentence);

    QHash<QString, Entry> m_entries;
};

} // namespace fourwalls::views
