"""Labels that are common in tables: a public list, counted like the labels of any category.

A listed word needs no delta and a lower count than an unlisted label. The list is the same for every table: to
look for words of one table here would need a look at its rows.
"""

from __future__ import annotations

_SEXES = """F M f m W w D d Female Male female male FEMALE MALE Woman Man woman man Femme Homme femme homme Frau Mann
weiblich männlich divers Weiblich Männlich Mujer Hombre mujer hombre Femenino Masculino Donna Uomo Other Unknown"""
_TRUTH = """yes no Yes No YES NO Y N y n true false True False TRUE FALSE T t ja nein Ja Nein JA NEIN J oui non Oui Non
si sí no Sí Si vrai faux wahr falsch positive negative Positive Negative pos neg present absent alive dead"""
_LEVELS = """low medium high Low Medium High LOW MEDIUM HIGH none mild moderate severe None Mild Moderate Severe good
fair poor Good Fair Poor excellent Excellent small large Small Large never sometimes often always Never Sometimes Often
Always niedrig mittel hoch gering leicht schwer faible moyen élevé bajo medio alto current former"""
_FAMILY = """single married divorced widowed separated Single Married Divorced Widowed Separated ledig verheiratet
geschieden verwitwet célibataire marié divorcé veuf soltero casado Husband Wife Child Parent"""
_PEOPLE = """White Black Asian Hispanic Other white black asian hispanic other African-American Caucasian
Native-American"""
_WORK = """employed unemployed retired student Employed Unemployed Retired Student Private Public private public
Office Sales Manager Worker Teacher Nurse Doctor full-time part-time Full-time Part-time urban rural Urban Rural
own rent Own Rent Mortgage Home Car"""
_PLACES = """North South East West north south east west Northeast Northwest Southeast Southwest Midwest United-States
Argentina Australia Austria Belgium Brazil Bulgaria Canada Chile China Colombia Croatia Cuba Czechia Denmark Egypt
England Estonia Finland France Germany Greece Hungary India Indonesia Iran Iraq Ireland Israel Italy Japan Kenya Latvia
Lithuania Luxembourg Malaysia Mexico Morocco Netherlands Nigeria Norway Pakistan Peru Philippines Poland Portugal
Romania Russia Scotland Serbia Singapore Slovakia Slovenia Spain Sweden Switzerland Thailand Turkey UK USA US Ukraine
Vietnam Wales AT AU BE BR CA CH CN CZ DE DK ES FI FR GB GR HU IE IN IT JP KR MX NL NO NZ PL PT RO RU SE TR ZA Wien Tirol
Salzburg Kärnten Steiermark Burgenland Vorarlberg Bayern Hessen Berlin Hamburg Sachsen AL AK AZ AR CO CT GA HI ID IL IA
KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"""
_TIMES = """January February March April May June July August September October November December Jan Feb Mar Apr Jun
Jul Aug Sep Oct Nov Dec Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Wed Thu Fri Sat Sun spring
summer autumn winter Spring Summer Autumn Winter morning afternoon evening night"""
_GRADES = """A B C E G H I K L O P Q R S U V X Z a b c e I II III IV V VI 0 A+ A- B+ B- AB O+ O- AB+ AB- Bachelors
Masters Doctorate primary secondary tertiary Primary Secondary Tertiary"""
_NUMBERS = " ".join(str(number) for number in range(32))


def _listed(*groups: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for group in groups for word in group.split()))


COMMON_WORDS = _listed(_SEXES, _TRUTH, _LEVELS, _FAMILY, _PEOPLE, _WORK, _PLACES, _TIMES, _GRADES, _NUMBERS)
