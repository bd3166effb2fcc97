# Embeds the report page (web/) into the library.
